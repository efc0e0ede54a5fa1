/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what isolate sets in a task's environment, and how it is removed. */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/installed.h"
#include "base/preloadable.h"
#include "fakeenvironment.h"
#include "unit/lib/planrow.h"
#include "unit/lib/rows.h"

#define NODES "fast=0@0,1@1 slow=2@0,3@1"

static struct work *work;
static struct hm_error error;

static int set_up(void **state)
{
    const struct row row = {"optane", "isolate", SHARED};
    (void)state;
    work = malloc(sizeof(*work));
    assert_non_null(work);
    assert_int_equal(planrow_resolve(work, &row), 0);
    fake_environment_clear();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(work);
    return 0;
}

static int enter(void)
{
    return hm_isolate_enter(fake_environment(), &work->plan, &work->tiers.topology, 7, &error);
}

/* The user's own LD_PRELOAD, and its value in the job; "*" stands for the preload library. */
static const char *const preloads[][2] = {
    {"", "*"},
    {"/lib/own.so", "*:/lib/own.so"},
    {"/lib/a.so /lib/b.so", "*:/lib/a.so /lib/b.so"},
    {"*", "*"},
    {"/lib/a.so:*", "*:/lib/a.so"},
    {"*:/lib/a.so:*", "*:/lib/a.so"},
    {"*x:/y*", "*:*x:/y*"},
};

/* Replaces each star by the library's path. */
static const char *spell(const char *text)
{
    static char out[4096];
    size_t used = 0;
    for (; *text; text++)
        used += (size_t)(*text == '*' ? snprintf(out + used, sizeof(out) - used, "%s", hm_preload_library())
                                      : snprintf(out + used, sizeof(out) - used, "%c", *text));
    out[used] = '\0';
    return out;
}

static void test_the_library_is_put_first_and_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(preloads); i++) {
        fake_environment_clear();
        if (preloads[i][0][0])
            fake_environment_put("LD_PRELOAD", spell(preloads[i][0]));
        assert_int_equal(enter(), 0);
        assert_int_equal(enter(), 0); /* a step that the job's script starts does the same again */
        assert_string_equal(fake_environment_get("LD_PRELOAD"), spell(preloads[i][1]));
        assert_string_equal(fake_environment_get("HYBRIDMEM_ISOLATE_NODES"), NODES);
        assert_string_equal(fake_environment_get("HYBRIDMEM_ISOLATE_JOB"), "7");
    }
}

static void test_what_was_set_is_taken_back(void **state)
{
    (void)state;
    assert_int_equal(enter(), 0);
    assert_int_equal(hm_isolate_leave(fake_environment(), &error), 0);
    assert_null(fake_environment_get("LD_PRELOAD"));
    assert_null(fake_environment_get("HYBRIDMEM_ISOLATE_NODES"));
    assert_null(fake_environment_get("HYBRIDMEM_ISOLATE_JOB"));
    fake_environment_put("LD_PRELOAD", "/lib/own.so");
    assert_int_equal(enter(), 0);
    assert_int_equal(hm_isolate_leave(fake_environment(), &error), 0);
    assert_string_equal(fake_environment_get("LD_PRELOAD"), "/lib/own.so");
    /* The job's script has set LD_PRELOAD anew. */
    assert_int_equal(enter(), 0);
    fake_environment_put("LD_PRELOAD", "/lib/other.so");
    assert_int_equal(hm_isolate_leave(fake_environment(), &error), 0);
    assert_string_equal(fake_environment_get("LD_PRELOAD"), "/lib/other.so");
    assert_null(fake_environment_get("HYBRIDMEM_ISOLATE_NODES"));
}

static void test_a_guided_task_is_told_its_sites(void **state)
{
    const char *told = "fast=0 slow=1 sites=00000000000000a1";
    char preload[4096];
    (void)state;
    fake_environment_put("LD_PRELOAD", "/lib/own.so");
    assert_int_equal(enter(), 0); /* of the job's script */
    assert_int_equal(hm_isolate_leave(fake_environment(), &error), 0);
    assert_int_equal(hm_isolate_enter_guided(fake_environment(), told, 7, &error), 0);
    snprintf(preload, sizeof(preload), "%s:/lib/own.so", hm_guide_library());
    assert_string_equal(fake_environment_get("LD_PRELOAD"), preload);
    assert_string_equal(fake_environment_get("HYBRIDMEM_GUIDE"), told);
    assert_null(fake_environment_get("HYBRIDMEM_ISOLATE_NODES"));
    assert_int_equal(hm_isolate_leave(fake_environment(), &error), 0);
    assert_string_equal(fake_environment_get("LD_PRELOAD"), "/lib/own.so");
    assert_null(fake_environment_get("HYBRIDMEM_GUIDE"));
    assert_null(fake_environment_get("HYBRIDMEM_ISOLATE_JOB"));
}

/* Without HYBRIDMEM_ISOLATE_JOB, the library is the user's own choice (hybridmem-preload(7)). */
static void test_a_profiled_task_is_told_the_folder_of_its_recording(void **state)
{
    char preload[4096];
    (void)state;
    fake_environment_put("LD_PRELOAD", "/lib/own.so");
    assert_int_equal(hm_isolate_enter_profiled(fake_environment(), "/dev/shm/x", 7, &error), 0);
    snprintf(preload, sizeof(preload), "%s:/lib/own.so", hm_sites_library());
    assert_string_equal(fake_environment_get("LD_PRELOAD"), preload);
    assert_string_equal(fake_environment_get("HYBRIDMEM_SITES"), "/dev/shm/x");
    assert_int_equal(hm_isolate_leave(fake_environment(), &error), 0);
    assert_string_equal(fake_environment_get("LD_PRELOAD"), "/lib/own.so");
    assert_null(fake_environment_get("HYBRIDMEM_SITES"));
    assert_null(fake_environment_get("HYBRIDMEM_ISOLATE_JOB"));
}

static void test_what_the_user_set_stays(void **state)
{
    (void)state;
    fake_environment_put("LD_PRELOAD", hm_preload_library());
    fake_environment_put("HYBRIDMEM_ISOLATE_NODES", "slow=9@9");
    assert_int_equal(hm_isolate_leave(fake_environment(), &error), 0);
    assert_string_equal(fake_environment_get("LD_PRELOAD"), hm_preload_library());
    assert_string_equal(fake_environment_get("HYBRIDMEM_ISOLATE_NODES"), "slow=9@9");
}

static void test_what_cannot_be_set_is_said(void **state)
{
    (void)state;
    static char longest[40000];
    fake_environment_fill();
    assert_int_equal(enter(), -1);
    assert_non_null(strstr(error.text, "HYBRIDMEM_ISOLATE_JOB cannot be set in the task's environment"));
    fake_environment_clear();
    memset(longest, 'x', sizeof(longest) - 1);
    fake_environment_put("LD_PRELOAD", longest);
    assert_int_equal(enter(), -1);
    assert_non_null(strstr(error.text, "LD_PRELOAD cannot be read"));
    assert_null(fake_environment_get("HYBRIDMEM_ISOLATE_JOB"));
    fake_environment_put("HYBRIDMEM_ISOLATE_JOB", "7");
    assert_int_equal(hm_isolate_leave(fake_environment(), &error), -1);
}

static char looked_at[PATH_MAX];

enum hm_preloadable __wrap_hm_preloadable(const char *path, char why[HM_PRELOADABLE_WHY]);
enum hm_preloadable __wrap_hm_preloadable(const char *path, char why[HM_PRELOADABLE_WHY])
{
    snprintf(looked_at, sizeof(looked_at), "%s", path);
    bool breaks = strcmp(path, "/bin/sh") == 0;
    snprintf(why, HM_PRELOADABLE_WHY, "%s", breaks ? "has another libc" : "");
    return breaks ? HM_PRELOADABLE_BREAKS : HM_PRELOADABLE;
}

/* The program is looked for as Slurm does. */
static void test_a_program_that_the_library_would_break(void **state)
{
    static const struct {
        const char *name, *path, *looked_at;
        bool breaks;
    } rows[] = {
        {"/bin/sh", NULL, "/bin/sh", true},
        {"sh", "/none:/bin:/usr/bin", "/bin/sh", true},
        {"./sh", "/bin", "./sh", false},
        {"env", "/none:/usr/bin", "/usr/bin/env", false},
        {"no-such-program", "/bin", "", false},
        {"sh", NULL, "", false},
        {"sh", "", "", false},
        {NULL, "/bin", "", false},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char name[32], *words[] = {name, NULL};
        struct hm_environment environment = *fake_environment();
        fake_environment_clear();
        looked_at[0] = error.text[0] = '\0';
        if (rows[i].path)
            fake_environment_put("PATH", rows[i].path);
        snprintf(name, sizeof(name), "%s", rows[i].name ? rows[i].name : "");
        environment.words = rows[i].name ? words : NULL;
        assert_int_equal(hm_isolate_breaks(&environment, &error), rows[i].breaks);
        assert_string_equal(looked_at, rows[i].looked_at);
        assert_int_equal(rows[i].breaks, strstr(error.text, "sh has another libc: it runs, and ") != NULL);
    }
}

static void test_nodes(void **state)
{
    (void)state;
    char text[64];
    assert_int_equal(hm_isolate_nodes(&work->plan, &work->tiers.topology, text, sizeof(text)), 0);
    assert_string_equal(text, NODES);
    assert_int_equal(hm_isolate_nodes(&work->plan, &work->tiers.topology, text, sizeof(NODES)), 0);
    for (size_t size = 1; size < sizeof(NODES); size++) {
        assert_int_equal(hm_isolate_nodes(&work->plan, &work->tiers.topology, text, size), -1);
        assert_int_equal(errno, ENAMETOOLONG);
    }
    for (int i = 0; i < work->tiers.topology.n_nodes; i++)
        work->tiers.topology.node[i].socket = i % 2 ? -1 : 0;
    assert_int_equal(hm_isolate_nodes(&work->plan, &work->tiers.topology, text, sizeof(text)), 0);
    assert_string_equal(text, "fast=0@0,1 slow=2@0,3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_library_is_put_first_and_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_was_set_is_taken_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_guided_task_is_told_its_sites, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_profiled_task_is_told_the_folder_of_its_recording, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_the_user_set_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_set_is_said, set_up, tear_down),
        cmocka_unit_test(test_a_program_that_the_library_would_break),
        cmocka_unit_test_setup_teardown(test_nodes, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
