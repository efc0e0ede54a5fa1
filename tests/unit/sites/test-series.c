/* SPDX-License-Identifier: Apache-2.0 */
/* Tests when in the run a profile says that sites have memory, at looks whose times the test gives. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sites/commands/series.h"
#include "unit/lib/rows.h"

#define MS UINT64_C(1000000)
#define LAST (HM_PROFILE_PARTS - 1)

enum { FIRST = 3, SECOND = 4000 }; /* entries of the table */

struct scene {
    struct hm_watch watch;
    struct hm_series *series;
    struct hm_profile profile;
    struct hm_profile_site site[2];
};

static void setup_scene(struct scene *scene)
{
    memset(scene, 0, sizeof(*scene));
    scene->watch.table = calloc(1, sizeof(*scene->watch.table));
    scene->series = hm_series_open();
    assert_non_null(scene->watch.table);
    assert_non_null(scene->series);
    scene->watch.began_ns = scene->watch.looked_ns = 77 * MS;
    for (int i = 0; i < 2; i++) {
        struct hm_sites_entry *entry = &scene->watch.table->entry[i == 0 ? FIRST : SECOND];
        entry->id = scene->site[i].id = 100 + (uint64_t)i;
        entry->state = HM_SITES_FILLED;
    }
    scene->profile.site = scene->site;
    scene->profile.n_sites = 2;
}

/* A look at a time, when a site has these bytes. */
static void look(struct scene *scene, uint64_t ms, int at, int64_t bytes)
{
    struct hm_sites_entry *entry = &scene->watch.table->entry[at];
    entry->live_bytes = bytes;
    entry->peak_bytes = bytes > entry->peak_bytes ? bytes : entry->peak_bytes;
    scene->watch.looked_ns = scene->watch.began_ns + ms * MS;
    hm_series_look(scene->series, &scene->watch, NULL);
}

/* Ends the run, and gives the sites their series. */
static void end_scene(struct scene *scene)
{
    for (int i = 0; i < 2; i++)
        scene->site[i].peak_bytes = (uint64_t)scene->watch.table->entry[i == 0 ? FIRST : SECOND].peak_bytes;
    hm_series_report(scene->series, &scene->watch, &scene->profile);
    hm_series_close(scene->series);
    free(scene->watch.table);
}

/* Parts from `first` to `last` have these bytes, and no other has any. */
static void assert_parts(const struct hm_profile_site *site, int first, int last, uint64_t bytes)
{
    assert_true(site->has_series);
    for (int part = 0; part < HM_PROFILE_PARTS; part++)
        assert_int_equal(site->series[part], part >= first && part <= last ? bytes : 0);
}

/* Looks each 20 ms; the first site until the middle, then the second. */
static void test_one_after_the_other(void **state)
{
    struct scene scene;
    (void)state;
    setup_scene(&scene);
    for (uint64_t ms = 20; ms <= 3200; ms += 20) {
        look(&scene, ms, FIRST, ms < 1600 ? 9 : 0);
        look(&scene, ms, SECOND, ms >= 1600 ? 11 : 0);
    }
    end_scene(&scene);
    assert_parts(&scene.site[0], 0, 15, 9);
    assert_parts(&scene.site[1], 16, LAST, 11);
}

/* The slots become longer several times in a run of a minute, and nothing moves. */
static void test_a_long_run(void **state)
{
    struct scene scene;
    (void)state;
    setup_scene(&scene);
    for (uint64_t ms = 0; ms <= 64000; ms += 20)
        look(&scene, ms, FIRST, ms >= 16000 && ms < 20000 ? 5 : 0);
    end_scene(&scene);
    assert_parts(&scene.site[0], 7, 10, 5);
    assert_parts(&scene.site[1], 0, LAST, 0);
}

/* A site has its memory from its first allocation on until the last one's end, as the program notes them. */
static void test_when_a_site_is_alive(void **state)
{
    static const struct {
        int64_t born_ms, ended_ms; /* of the table; the run is from 77 to 3277 */
        int64_t live_bytes;
        double from, to; /* 0, 0: not known */
    } rows[] = {
        {877, 2477, 0, 0.25, 0.75}, {877, 2477, 5, 0.25, 1}, /* it has some still */
        {77, 9999, 0, 0, 1},        {1, 1677, 0, 0, 0.5},    {0, 0, 0, 0, 0},   {0, 2477, 0, 0, 0},
        {2477, 877, 0, 0, 0},       {9999, 10000, 0, 0, 0},  {-5, -1, 0, 0, 0},
    };
    struct scene scene;
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        setup_scene(&scene);
        struct hm_sites_entry *entry = &scene.watch.table->entry[FIRST];
        entry->born_ns = rows[i].born_ms * (int64_t)MS;
        entry->ended_ns = rows[i].ended_ms * (int64_t)MS;
        look(&scene, 3200, FIRST, rows[i].live_bytes);
        end_scene(&scene);
        assert_float_equal(scene.site[0].alive.from, rows[i].from, 1e-9);
        assert_float_equal(scene.site[0].alive.to, rows[i].to, 1e-9);
    }
}

/* What a machine that stalls hides is between two looks: what the earlier has seen ends there, what the later sees may
 * have been there since. */
static void test_looks_that_are_far_from_each_other(void **state)
{
    struct scene scene;
    (void)state;
    setup_scene(&scene);
    look(&scene, 0, FIRST, 7);
    look(&scene, 200, FIRST, 7);
    look(&scene, 1000, FIRST, 0);
    look(&scene, 2000, SECOND, 3);
    look(&scene, 3200, FIRST, 0);
    end_scene(&scene);
    assert_parts(&scene.site[0], 0, 2, 7);
    assert_parts(&scene.site[1], 10, LAST, 3);
}

/* What a look does not see any more was there until the program has noted an end, and not later than that look. */
static void test_memory_that_ends_between_two_looks(void **state)
{
    static const struct {
        int64_t ended_ms;
        int last; /* the last part that has the memory */
    } rows[] = {{777, 7}, {1377, 13}, {9999, 20}, {100, 5}, {0, 5}, {-9, 5}};
    struct scene scene;
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        setup_scene(&scene);
        look(&scene, 0, FIRST, 7);
        look(&scene, 519, FIRST, 7);
        scene.watch.table->entry[FIRST].ended_ns = rows[i].ended_ms * (int64_t)MS;
        look(&scene, 2010, FIRST, 0);
        look(&scene, 3200, FIRST, 0);
        end_scene(&scene);
        assert_parts(&scene.site[0], 0, rows[i].last, 7);
    }
}

/* What a look finds was not there before the site began, as the library notes it: any time at all. */
static void test_memory_that_begins_between_two_looks(void **state)
{
    static const struct {
        int64_t born_ms;
        int first; /* the first part that has the memory */
    } rows[] = {{777, 7}, {1377, 13}, {9999, 20}, {100, 5}, {0, 5}, {-9, 5}};
    struct scene scene;
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        setup_scene(&scene);
        look(&scene, 519, FIRST, 0);
        scene.watch.table->entry[FIRST].born_ns = rows[i].born_ms * (int64_t)MS;
        look(&scene, 2010, FIRST, 7);
        look(&scene, 3200, FIRST, 7);
        end_scene(&scene);
        assert_parts(&scene.site[0], rows[i].first, LAST, 7);
    }
}

/* Memory that comes and goes between two looks is known by its peak. */
static void test_a_peak_between_two_looks(void **state)
{
    struct scene scene;
    (void)state;
    setup_scene(&scene);
    for (uint64_t ms = 0; ms <= 3200; ms += 20) {
        if (ms == 1660)
            scene.watch.table->entry[FIRST].peak_bytes = 8;
        look(&scene, ms, FIRST, 0);
    }
    end_scene(&scene);
    assert_parts(&scene.site[0], 16, 16, 8);
}

/* A look at page maps, of the first site. */
static void look_at_pages(struct scene *scene, uint64_t ms, double bytes, double resident_bytes)
{
    static struct hm_watch_seen seen[HM_SITES_ENTRIES];
    seen[FIRST] = (struct hm_watch_seen){bytes, resident_bytes, resident_bytes > 0 ? 0x1ff : 0, false};
    scene->watch.looked_ns = scene->watch.began_ns + ms * MS;
    hm_series_look(scene->series, &scene->watch, seen);
}

/* What comes and goes between two such looks counts in full, and what they have seen as they have seen it. */
static void test_resident_memory(void **state)
{
    struct scene scene;
    (void)state;
    setup_scene(&scene);
    look(&scene, 20, FIRST, 800);
    look_at_pages(&scene, 20, 800, 0);
    look(&scene, 800, FIRST, 800);
    look_at_pages(&scene, 800, 800, 200);
    look_at_pages(&scene, 1500, 800, 200);
    look(&scene, 1620, FIRST, 830); /* 30 are gone before the next look */
    look(&scene, 1680, FIRST, 800);
    look_at_pages(&scene, 1700, 800, 100);
    look_at_pages(&scene, 2400, 800, 100);
    look_at_pages(&scene, 3160, 800, 100);
    scene.watch.table->entry[FIRST].live_bytes = 0;
    scene.site[0].lifetime_s = 3.18;
    scene.site[0].mean_bytes = 800;
    scene.site[0].peak_bytes = scene.profile.peak_bytes = 830;
    scene.site[1].lifetime_s = NAN;
    scene.watch.looked_ns = scene.watch.began_ns + 3200 * MS;
    hm_series_end(scene.series, &scene.watch);
    hm_series_report(scene.series, &scene.watch, &scene.profile);
    const struct hm_profile_resident *resident = &scene.site[0].resident;
    assert_true(resident->is_known);
    assert_int_equal(resident->peak_bytes, 230);
    assert_int_equal(resident->series[4], 200);
    assert_int_equal(resident->series[16], 230);
    assert_int_equal(resident->series[20], 100);
    assert_int_equal(resident->slices, 0x1ff); /* 9 of 32 have room for the most */
    assert_float_equal(resident->mean_bytes, 800 * (1.48 * 200 + 1.66 * 100) / (3.16 * 800), 0.01);
    assert_int_equal(scene.profile.resident_peak_bytes, 230);
    end_scene(&scene);
}

/* Nothing is known where looks end long before the program; memory that lives shorter than four times the time between
 * them counts in full. */
static void test_memory_that_looks_do_not_see(void **state)
{
    static const struct {
        uint64_t last_ms; /* the last of the looks each 500 ms */
        double lifetime_s;
        bool is_known;
        uint64_t peak_bytes;
        uint32_t slices;
    } rows[] = {
        {2000, 3, false, 0, 0},
        {3000, 0.5, true, 8, 0},
        {3000, 1.99, true, 8, 0},
        {3000, 2, true, 1, 0x1ff},
    };
    struct scene scene;
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        setup_scene(&scene);
        look(&scene, 20, FIRST, 8);
        for (uint64_t ms = 500; ms <= rows[i].last_ms; ms += 500)
            look_at_pages(&scene, ms, 8, 1);
        scene.site[0].lifetime_s = rows[i].lifetime_s;
        scene.site[0].peak_bytes = scene.profile.peak_bytes = 8;
        scene.watch.looked_ns = scene.watch.began_ns + 3200 * MS;
        hm_series_end(scene.series, &scene.watch);
        hm_series_report(scene.series, &scene.watch, &scene.profile);
        assert_int_equal(scene.site[0].resident.is_known, rows[i].is_known);
        assert_int_equal(scene.site[0].resident.peak_bytes, rows[i].peak_bytes);
        assert_int_equal(scene.site[0].resident.slices, rows[i].slices);
        assert_int_equal(scene.profile.has_resident_peak, rows[i].is_known);
        end_scene(&scene);
    }
}

/* The program can write any number into the table. */
static void test_numbers_that_nothing_has(void **state)
{
    static const int64_t numbers[] = {-1, INT64_MIN, INT64_MAX, HM_PROFILE_MOST + 1};
    struct scene scene;
    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        setup_scene(&scene);
        scene.watch.table->entry[FIRST].peak_bytes = numbers[i];
        look(&scene, 20, FIRST, numbers[i]);
        look(&scene, 640, FIRST, numbers[i]);
        hm_series_report(scene.series, &scene.watch, &scene.profile);
        scene.watch.table->entry[FIRST].peak_bytes = 0;
        end_scene(&scene);
        assert_parts(&scene.site[0], 0, LAST, 0);
    }
}

/* Without memory for series, the profile is without them. */
static void test_without_series(void **state)
{
    struct scene scene;
    (void)state;
    setup_scene(&scene);
    hm_series_close(scene.series);
    scene.series = NULL;
    look(&scene, 20, FIRST, 5);
    end_scene(&scene);
    assert_false(scene.site[0].has_series);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_after_the_other),
        cmocka_unit_test(test_a_long_run),
        cmocka_unit_test(test_when_a_site_is_alive),
        cmocka_unit_test(test_looks_that_are_far_from_each_other),
        cmocka_unit_test(test_memory_that_ends_between_two_looks),
        cmocka_unit_test(test_memory_that_begins_between_two_looks),
        cmocka_unit_test(test_a_peak_between_two_looks),
        cmocka_unit_test(test_resident_memory),
        cmocka_unit_test(test_memory_that_looks_do_not_see),
        cmocka_unit_test(test_numbers_that_nothing_has),
        cmocka_unit_test(test_without_series),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
