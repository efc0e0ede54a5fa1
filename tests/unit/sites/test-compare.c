/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how the sites of two builds are matched by names, and that it takes time with the number of sites. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sites/commands/compare.h"

#define SITES 4096

static size_t compared;

int __real_strcmp(const char *a, const char *b);
int __wrap_strcmp(const char *a, const char *b);
int __wrap_strcmp(const char *a, const char *b)
{
    compared++;
    return __real_strcmp(a, b);
}

/* The sites of one build, each with a frame whose function has a name of its own, or that of other sites, too. */
struct build {
    struct hm_profile profile;
    struct hm_sites_names names;
};

static void make(struct build *build, uint64_t first_id, const char *const *function, size_t n)
{
    *build = (struct build){.profile.n_sites = n};
    build->profile.site = calloc(n, sizeof(*build->profile.site));
    build->names.name = calloc(n, sizeof(*build->names.name));
    build->names.n = n;
    assert_true(build->profile.site && build->names.name);
    for (size_t i = 0; i < n; i++) {
        struct hm_profile_site *site = &build->profile.site[i];
        site->id = first_id + i;
        site->n_frames = 1;
        site->frame[0].offset = i + 1;
        build->names.name[i].frame = site->frame[0];
        build->names.name[i].text = strdup(function[i]);
        assert_non_null(build->names.name[i].text);
    }
}

static void clear(struct build *build)
{
    for (size_t i = 0; i < build->names.n; i++)
        free(build->names.name[i].text);
    free(build->names.name);
    free(build->profile.site);
}

static struct hm_sites_changes compare(const struct build *old, const struct build *new)
{
    struct hm_sites_changes changes;
    const struct hm_sites_side sides[] = {{&old->profile, &old->names}, {&new->profile, &new->names}};
    compared = 0;
    assert_int_equal(hm_sites_compare(&sides[0], &sides[1], &changes), 0);
    return changes;
}

static const char *name_of(const struct build *build, const struct hm_profile_site *site)
{
    return site ? hm_sites_name_of(&build->names, &site->frame[0]) : NULL;
}

static void test_only_a_name_that_one_site_has_on_each_side_tells_it(void **state)
{
    (void)state;
    static const char *const before[] = {"twice (a.c:1)", "once (a.c:7)", "gone (a.c:2)", "twice (a.c:3)",
                                         "many (b.c:1)"};
    static const char *const after[] = {"many (b.c:9)", "twice (a.c:5)", "many (b.c:8)", "once (a.c:9)", "new (a.c:2)"};
    struct build old, new;
    make(&old, 1, before, 5);
    make(&new, 100, after, 5);
    struct hm_sites_changes changes = compare(&old, &new);
    assert_int_equal(changes.n, 9);
    assert_int_equal(changes.by_name, 1);
    assert_int_equal(changes.without_names, 3 + 3); /* "twice" and "many", on both sides */
    for (size_t i = 0; i < changes.n; i++) {
        const char *was = name_of(&old, changes.pair[i].old), *is = name_of(&new, changes.pair[i].new);
        if (was && is) {
            assert_string_equal(was, "once (a.c:7)");
            assert_string_equal(is, "once (a.c:9)");
        }
    }
    free(changes.pair);
    clear(&old);
    clear(&new);
}

/* All sites of one build have one name, which comes after those of the other, or before them. */
static void test_many_sites_of_one_name_are_looked_at_once(void **state)
{
    (void)state;
    static char own[SITES][16];
    static const char *names[SITES], *same[SITES];
    struct build each, all;
    for (size_t i = 0; i < SITES; i++) {
        snprintf(own[i], sizeof(own[i]), "m%zu", i);
        names[i] = own[i];
    }
    for (int place = 0; place < 2; place++) {
        for (size_t i = 0; i < SITES; i++)
            same[i] = place == 0 ? "z" : "a";
        make(&each, 1, names, SITES);
        make(&all, 100000, same, SITES);
        const struct build *sides[][2] = {{&each, &all}, {&all, &each}};
        for (int i = 0; i < 2; i++) {
            struct hm_sites_changes changes = compare(sides[i][0], sides[i][1]);
            assert_int_equal(changes.n, 2 * SITES);
            /* sorting takes less than 12 for each of the 2 * 4096 */
            assert_in_range(compared, 1, 2 * SITES * 16);
            free(changes.pair);
        }
        clear(&each);
        clear(&all);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_a_name_that_one_site_has_on_each_side_tells_it),
        cmocka_unit_test(test_many_sites_of_one_name_are_looked_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
