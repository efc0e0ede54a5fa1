/* SPDX-License-Identifier: Apache-2.0 */
/* Tests rules for groups where one of several directory services fails. The C library then leaves out the groups of
 * that service, without an error. The user may be in such a group, so its rule must hold. Also tests rules for users
 * whom the node cannot look up, and that capital letters count in the names of partitions, but not in those of
 * accounts. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "core/config/lookup.h"
#include "parseconfig.h"
#include "unit/lib/rows.h"

static struct hm_config config;
static struct hm_error error;
static char asked[64]; /* names of the groups that were looked up, "+" for each look-up of the user */
static char **later;   /* the user's groups when the user is looked up once more; NULL: there is no answer */

static time_t now_s, each_s; /* the time, and how long each look-up takes */

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    assert_int_equal(clock, CLOCK_MONOTONIC);
    *now = (struct timespec){.tv_sec = now_s};
    return 0;
}

static void note(const char *what)
{
    size_t used = strlen(asked);
    snprintf(asked + used, sizeof(asked) - used, "%s", what);
    now_s += strcmp(what, " ") == 0 ? 0 : each_s;
}

/* Stands for a node that only knows the groups physics, physics1 and so on. */
int hm_lookup_group(const char *name, gid_t *gid, struct hm_error *why)
{
    note(name);
    note(" ");
    *gid = 100;
    return strncmp(name, "physics", 7) == 0 ? 0 : hm_fail(why, ENOENT, "there is no such group");
}

int hm_lookup_uid(uid_t uid, struct hm_identity *identity, struct hm_error *why)
{
    note("+");
    if (!later)
        return hm_fail(why, ETIMEDOUT, "it fails");
    *identity = (struct hm_identity){.uid = uid, .name = "alice", .groups = calloc(3, sizeof(char *))};
    for (int i = 0; later[i]; i++)
        identity->groups[i] = strdup(later[i]);
    return 0;
}

/* Asks for the mode, as alice, who is in `groups`, and in `groups_later` when looked up once more. Returns what
 * hm_identity_judge does. */
static int ask(const char *text, char **groups, char **groups_later)
{
    struct hm_identity alice = {.uid = 1001, .name = "alice", .groups = groups};
    struct hm_error doubt = {0};
    struct hm_request request;
    asked[0] = error.text[0] = '\0';
    now_s = each_s; /* the user was looked up */
    later = groups_later;
    assert_int_equal(hm_request_parse(text, &request, NULL), 0);
    bool is_doubtful = hm_lookup_doubts(&config, &request, &alice, 0, &doubt);
    assert_int_equal(is_doubtful, doubt.text[0] != '\0');
    const struct hm_asker asker = {
        .identity = &alice, .doubt = doubt.text, .user = "alice", .account = "", .partition = ""};
    return hm_identity_judge(&config, &request, &asker, &error);
}

static void test_an_unknown_group_refuses_what_its_rule_would(void **state)
{
    (void)state;
    assert_int_equal(parse("group \"guests\" { modes = { fast } }\n", &config, &error), 0);
    assert_int_equal(ask("spill", (char *[]){"staff", NULL}, NULL), -1);
    assert_string_equal(error.text, "--hybrid-mem=spill: hybridmem.conf has a rule for group \"guests\", and this node "
                                    "does not know who is in it (there is no such group): use off");
    assert_int_equal(ask("fast", (char *[]){"staff", NULL}, NULL), 0);
    assert_int_equal(ask("off", (char *[]){"staff", NULL}, NULL), 0);
    assert_string_equal(asked, "");
}

static void test_a_known_group_says_who_is_in_it(void **state)
{
    (void)state;
    assert_int_equal(parse("group \"physics\" { modes = { fast } }\n", &config, &error), 0);
    char *staff[] = {"staff", NULL};
    assert_int_equal(ask("spill", staff, staff), 0);
    assert_string_equal(asked, "physics +");
    assert_int_equal(ask("spill", (char *[]){"staff", "physics", NULL}, NULL), -1);
    assert_non_null(strstr(error.text, "the rule for group \"physics\""));
    assert_string_equal(asked, "");
}

/* The directory service did not answer for the user's groups at first, but does so by now. */
static void test_who_was_looked_up_too_early_is_refused(void **state)
{
    (void)state;
    assert_int_equal(parse("group \"physics\" { modes = { fast } }\n", &config, &error), 0);
    assert_int_equal(ask("spill", (char *[]){"staff", NULL}, (char *[]){"staff", "physics", NULL}), -1);
    assert_non_null(strstr(error.text, "group \"physics\", and this node did not know at once that you are in it"));
    assert_int_equal(ask("spill", (char *[]){"staff", NULL}, NULL), -1);
    assert_non_null(strstr(error.text, "rules by group, and it fails"));
}

static void test_the_first_unknown_group_ends_the_look_ups(void **state)
{
    (void)state;
    const char *text = "group \"physics\" { modes = { fast } }\ngroup \"guests\" { modes = { fast } }\n"
                       "group \"others\" { modes = { fast } }\n";
    assert_int_equal(parse(text, &config, &error), 0);
    assert_int_equal(ask("spill", (char *[]){NULL}, NULL), -1);
    assert_string_equal(asked, "physics guests ");
}

/* Rules for groups are checked within 15 s in all, however many there are: the prolog has other work, too. */
static void test_slow_look_ups_end_together(void **state)
{
    static const struct {
        time_t each_s;
        int result;
        const char *asked;
    } rows[] = {{2, 0, "physics1 physics2 physics3 physics4 +"},
                {3, -1, "physics1 physics2 physics3 physics4 "},
                {4, -1, "physics1 physics2 physics3 "},
                {15, -1, ""}};
    (void)state;
    const char *text = "group \"physics1\" { modes = { fast } }\ngroup \"physics2\" { modes = { fast } }\n"
                       "group \"physics3\" { modes = { fast } }\ngroup \"physics4\" { modes = { fast } }\n";
    char *nobody[] = {NULL};
    assert_int_equal(parse(text, &config, &error), 0);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        each_s = rows[i].each_s;
        assert_int_equal(ask("spill", nobody, nobody), rows[i].result);
        assert_string_equal(asked, rows[i].asked);
        if (rows[i].result != 0)
            assert_non_null(strstr(error.text, "did not find out within 15 s who is in these groups: use off"));
    }
    each_s = 0;
}

static void test_a_users_own_rule_comes_before_groups(void **state)
{
    (void)state;
    const char *text = "user \"alice\" { modes = { spill } }\ngroup \"guests\" { modes = { fast } }\n";
    assert_int_equal(parse(text, &config, &error), 0);
    assert_int_equal(ask("spill", (char *[]){NULL}, NULL), 0);
    assert_string_equal(asked, "");
}

/* What the ledger's entry has of a longer name: the first 63 bytes. */
#define CUT "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

/* Where the node cannot look the user up, the name that Slurm gives decides. What may stand in its place (nothing,
 * "nobody", a number or a name that was cut) is refused, as a user's rule may apply. */
static void test_a_stand_in_for_a_name_is_no_name(void **state)
{
    static const struct {
        const char *user;
        int result;
    } rows[] = {{"bob", 0}, {"alice", -1}, {"", -1}, {"nobody", -1}, {"1001", -1}, {"4x", 0}, {CUT, -1}, {&CUT[1], 0}};
    (void)state;
    struct hm_request request;
    assert_int_equal(parse("user \"alice\" { modes = { fast } }\n", &config, &error), 0);
    assert_int_equal(hm_request_parse("spill", &request, NULL), 0);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct hm_asker asker = {
            .unknown = "it fails", .doubt = "", .user = rows[i].user, .account = "", .partition = ""};
        assert_int_equal(hm_identity_judge(&config, &request, &asker, &error), rows[i].result);
    }
}

/* slurmctld stores the names of accounts in small letters, but not those of partitions. */
static void test_letters_of_accounts_and_partitions(void **state)
{
    (void)state;
    struct hm_request request;
    const char *text = "account \"Physics\" { modes = { fast } }\npartition \"Main\" { modes = { slow } }\n";
    assert_int_equal(parse(text, &config, &error), 0);
    assert_int_equal(hm_request_parse("spill", &request, NULL), 0);
    assert_int_equal(hm_config_allows(&config, &request, "alice", NULL, "physics", "main", &error), -1);
    assert_non_null(strstr(error.text, "account \"Physics\""));
    assert_int_equal(hm_config_allows(&config, &request, "alice", NULL, "chemistry", "main", &error), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_unknown_group_refuses_what_its_rule_would),
        cmocka_unit_test(test_a_known_group_says_who_is_in_it),
        cmocka_unit_test(test_who_was_looked_up_too_early_is_refused),
        cmocka_unit_test(test_the_first_unknown_group_ends_the_look_ups),
        cmocka_unit_test(test_slow_look_ups_end_together),
        cmocka_unit_test(test_a_users_own_rule_comes_before_groups),
        cmocka_unit_test(test_a_stand_in_for_a_name_is_no_name),
        cmocka_unit_test(test_letters_of_accounts_and_partitions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
