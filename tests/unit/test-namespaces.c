/* SPDX-License-Identifier: Apache-2.0 */
/* A job's namespaces, with a script in the place of hybridmem-namespace: what it is told, and what is made of its end.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "freshledger.h"
#include "helpers/core/regions.h"
#include "helpers/job/namespacerun.h"
#include "helpers/job/namespaces.h"
#include "helpers/job/slowram.h"
#include "helpers/job/spawn.h"
#include "helpers/job/wipelater.h"
#include "scratch.h"

#define MADE                                                                                                           \
    "echo "                                                                                                            \
    "'{\"namespaces\":[{\"name\":\"hybridmem:a-cluster-with-a-long-name-:7.2.0\",\"socket\":0,\"region\":\"region0\"," \
    "\"device\":\"/dev/pmem0.1\","                                                                                     \
    "\"uuid\":\"u\",\"bytes\":536870912,\"usable_bytes\":528482304,\"fs\":\"ext4\"},{\"name\":\"namespace1.0\","       \
    "\"socket\":1,\"device\":\"/dev/pmem1\",\"bytes\":536870912,\"fs\":\"ext4\"}]}'"

static struct hm_config config;
static struct hm_job job;
static struct hm_error error;
static bool is_missing, are_there;
static unsigned left_s; /* of the limit */
static int handed_over; /* so often; negative: it cannot be */

pid_t __real_hm_spawn_start(const struct hm_spawn *spawn, struct hm_error *why);
pid_t __wrap_hm_spawn_start(const struct hm_spawn *spawn, struct hm_error *why);
bool __wrap_hm_regions_have_label(const char *folder, const char *prefix);
bool __wrap_hm_regions_have_devdax(const char *folder);
unsigned __wrap_hm_wipe_left(const struct hm_config *wiped);
int __wrap_hm_wipe_hand_over(struct hm_error *why);

pid_t __wrap_hm_spawn_start(const struct hm_spawn *spawn, struct hm_error *why)
{
    struct hm_spawn other = *spawn;
    assert_non_null(strstr(spawn->path, "/hybridmem-namespace"));
    other.path = scratch_path(is_missing ? "missing" : "script"); /* hybridmem itself may be installed */
    return __real_hm_spawn_start(&other, why);
}

bool __wrap_hm_regions_have_label(const char *folder, const char *prefix)
{
    assert_string_equal(folder, HM_REGIONS_FOLDER);
    assert_string_equal(prefix, "hybridmem:");
    return are_there;
}

bool __wrap_hm_regions_have_devdax(const char *folder)
{
    assert_string_equal(folder, HM_REGIONS_FOLDER);
    return are_there;
}

unsigned __wrap_hm_wipe_left(const struct hm_config *wiped)
{
    assert_ptr_equal(wiped, &config);
    return left_s;
}

int __wrap_hm_wipe_hand_over(struct hm_error *why)
{
    if (handed_over < 0)
        return hm_fail(why, EIO, "no systemd");
    handed_over++;
    return 0;
}

/* It writes its words, a line each, and goes on so. */
static void script(const char *body)
{
    char text[2048];
    snprintf(text, sizeof(text), "#!/bin/sh\nprintf '%%s\\n' \"$@\" > %s\n%s\n", scratch_path("told"), body);
    scratch_write(scratch_path("script"), text);
    assert_int_equal(chmod(scratch_path("script"), 0700), 0);
}

static void assert_told(const char *wanted)
{
    char text[1024] = "";
    FILE *file = fopen(scratch_path("told"), "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    for (char *at = text; *at; at++)
        *at = *at == '\n' ? ' ' : *at;
    assert_string_equal(text, wanted);
}

static int set_up(void **state)
{
    (void)state;
    ledger_with_job(&config, &job);
    is_missing = false;
    are_there = true;
    left_s = HM_WIPE_NO_LIMIT;
    handed_over = 0;
    error.text[0] = '\0';
    job.uid = 1001;
    job.restart = 3;
    snprintf(job.cluster, sizeof(job.cluster), "test");
    job.plan.fsdax = (struct hm_plan_fsdax){.is_wanted = true, .size_bytes = UINT64_C(1) << 30};
    hm_set_add(&job.plan.fsdax.sockets, 0);
    hm_set_add(&job.plan.fsdax.sockets, 1);
    job.namespaces.is_begun = true;
    job.namespaces.restart = 2;
    return hm_ledger_write(&config, &job, &error);
}

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static void what_is_made(void **state)
{
    char value[HM_DAX_VALUE], path[HM_DAX_PATH], wanted[1024];
    (void)state;
    snprintf(config.path, sizeof(config.path), "/x/y.conf");
    config.fsdax_map = HM_DAX_MAP_PMEM;
    script(MADE);
    assert_int_equal(hm_namespaces_make(&config, &job, &error), 0);
    assert_told(
        "create --config /x/y.conf --job 7 --restart 2 --cluster test --uid 1001 --size 1073741824 --sockets 0-1 "
        "--fs ext4 --map pmem --patience 3600 ");
    assert_int_equal(job.namespaces.n, 2);
    assert_true(job.namespaces.is_begun && job.namespaces.create_s >= 0 && job.namespaces.destroy_s < 0);
    assert_string_equal(job.namespaces.each[0].name, "hybridmem:a-cluster-with-a-long-name-:7.2.0");
    assert_string_equal(job.namespaces.each[0].device, "/dev/pmem0.1");
    assert_string_equal(job.namespaces.each[1].fs, "ext4");
    assert_int_equal(job.namespaces.each[1].socket, 1);
    assert_int_equal(job.namespaces.each[1].bytes, 536870912);
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
    assert_true(is_folder(hm_dax_path(&config, 7, 0, path)) && is_folder(hm_dax_path(&config, 7, 1, path)));
    assert_string_equal(hm_dax_variable(&config, 7, &job.namespaces, 0, value), "HYBRIDMEM_FSDAX_DIR");
    snprintf(wanted, sizeof(wanted), "%s/run/fsdax/7/0", scratch);
    assert_string_equal(value, wanted);
    assert_string_equal(hm_dax_variable(&config, 7, &job.namespaces, 1, value), "HYBRIDMEM_FSDAX_DIRS");
    snprintf(wanted, sizeof(wanted), "0=%s/run/fsdax/7/0:1=%s/run/fsdax/7/1", scratch, scratch);
    assert_string_equal(value, wanted);
    assert_null(hm_dax_variable(&config, 7, &job.namespaces, 2, value));
    script("");
    assert_int_equal(hm_namespaces_remove(&config, &job, true, &error), 0);
    assert_told("destroy --config /x/y.conf --job 7 --restart 2 --cluster test --patience 600 ");
    assert_false(job.namespaces.is_begun || is_folder(hm_dax_job_folder(&config, 7, path)));
    assert_true(job.namespaces.destroy_s >= 0);
    /* Once is enough. */
    assert_int_equal(unlink(scratch_path("told")), 0);
    assert_int_equal(hm_namespaces_remove(&config, &job, true, &error), 0);
    assert_int_equal(access(scratch_path("told"), F_OK), -1);
}

static const struct {
    const char *script;
    bool may_be_left;
    const char *said;
} failures[] = {
    {"echo 'hybridmem namespace: h.conf:1: no such key' >&2\n"
     "echo 'hybridmem namespace: region0: the largest free extent has 1 GiB' >&2; exit 1",
     false, "region0: the largest free extent has 1 GiB"},
    {"exit 2", false, "hybridmem-namespace ended with status 512"},
    {"echo busy >&2; exit 3", true, "busy"},
    {"kill -9 $$", true, "hybridmem-namespace was ended by signal 9"},
    {"", true, "hybridmem-namespace does not say what it made"},
    {"echo '{}'", true, "hybridmem-namespace does not say what it made"},
    {"echo '{\"namespaces\":[]}'", true, "hybridmem-namespace does not say what it made"},
    {"echo '{\"namespaces\":[{\"name\":\"n\",\"socket\":0,\"device\":\"/dev/pmem0\",\"bytes\":1}]}'", true,
     "hybridmem-namespace does not say what it made"},
    {"echo '{\"namespaces\":[{\"name\":\"n\",\"socket\":0,\"device\":\"/dev/sda\",\"bytes\":1,\"fs\":\"xfs\"}]}'", true,
     "hybridmem-namespace does not say what it made"},
    {"echo '{\"namespaces\":[{\"name\":\"n\",\"socket\":99,\"device\":\"/dev/pmem0\",\"bytes\":1,\"fs\":\"xfs\"}]}'",
     true, "hybridmem-namespace does not say what it made"},
};

static void what_fails(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
        assert_int_equal(set_up(state), 0);
        script(failures[i].script);
        assert_int_equal(hm_namespaces_make(&config, &job, &error), -1);
        assert_string_equal(error.text, failures[i].said);
        assert_int_equal(job.namespaces.is_begun, failures[i].may_be_left);
        assert_int_equal(job.namespaces.n, 0);
        job.namespaces.is_begun = true;
        if (strstr(failures[i].script, "exit") || strstr(failures[i].script, "kill")) {
            assert_int_equal(hm_namespaces_remove(&config, &job, true, &error), -1);
            assert_int_equal(errno == EBUSY, strstr(failures[i].script, "exit 3") != NULL);
            assert_true(job.namespaces.is_begun);
        }
    }
    is_missing = true;
    assert_int_equal(hm_namespaces_make(&config, &job, &error), -1);
    assert_string_equal(error.text, "this node has no hybridmem-namespace: hybridmem was built without ndctl");
    assert_false(job.namespaces.is_begun);
}

#define KEPT(until)                                                                                                    \
    "echo '{\"namespaces\":[{\"name\":\"hybridmem:test:u1001.29912345.1\",\"socket\":1,\"device\":\"/dev/pmem1\","     \
    "\"bytes\":536870912,\"fs\":\"xfs\",\"kept_until\":" until "}]}'"

static void want_kept(void)
{
    job.plan.request.keep = job.plan.fsdax.is_kept = true;
    config.path[0] = '\0';
    job.namespaces.is_begun = true;
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
}

static bool is_kept_in_ledger(uint32_t job_id)
{
    struct hm_job entry;
    assert_int_equal(hm_ledger_read(&config, job_id, &entry, &error), 0);
    return entry.namespaces.is_kept;
}

static void what_is_kept(void **state)
{
    char value[HM_DAX_VALUE], path[HM_DAX_PATH];
    (void)state;
    want_kept();
    /* The ledger says so before anything is made. */
    script(KEPT("\"2026-11-29T20:11:00Z\""));
    assert_int_equal(hm_namespaces_make(&config, &job, &error), 0);
    assert_told("create --job 7 --restart 2 --cluster test --uid 1001 --size 1073741824 --sockets 0-1 --fs ext4 --map "
                "dram --patience 3600 --keep ");
    assert_true(is_kept_in_ledger(7) && job.namespaces.is_kept && job.namespaces.is_begun);
    assert_int_equal(job.namespaces.kept_until_s, 1795983060);
    assert_string_equal(job.namespaces.each[0].fs, "xfs"); /* what he has kept, whatever the site's is now */
    assert_string_equal(hm_dax_variable(&config, 7, &job.namespaces, 2, value), "HYBRIDMEM_FSDAX_UNTIL");
    assert_string_equal(value, "2026-11-29T20:11:00Z");
    assert_null(hm_dax_variable(&config, 7, &job.namespaces, 3, value));
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
    /* A reap of any other leaves it. */
    script("");
    assert_int_equal(hm_namespaces_reap(&config, NULL, &error), 0);
    assert_told("reap --patience 0 --living 7.2,u1001 ");
    /* The job's end does not destroy it. */
    assert_true(is_folder(hm_dax_path(&config, 7, 1, path)));
    assert_int_equal(unlink(scratch_path("told")), 0);
    assert_int_equal(hm_namespaces_remove(&config, &job, true, &error), 0);
    assert_int_equal(access(scratch_path("told"), F_OK), -1);
    assert_false(job.namespaces.is_begun || is_folder(hm_dax_job_folder(&config, 7, path)));
    assert_true(job.namespaces.destroy_s < 0);
}

static void what_is_kept_has_one_job_at_a_time(void **state)
{
    static const struct {
        uint32_t uid;
        const char *cluster;
        bool is_kept, is_dead, is_refused;
    } rows[] = {
        {1001, "test", true, false, true},   {1001, "test", false, false, false}, {1002, "test", true, false, false},
        {1001, "other", true, false, false}, {1001, "test", true, true, false},
    };
    struct hm_job other;
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(set_up(state), 0);
        hm_job_init(&other, 12);
        other.uid = rows[i].uid;
        other.namespaces.is_kept = rows[i].is_kept;
        snprintf(other.cluster, sizeof(other.cluster), "%s", rows[i].cluster);
        if (rows[i].is_dead)
            snprintf(other.boot_id, sizeof(other.boot_id), "another");
        assert_int_equal(hm_ledger_write(&config, &other, &error), 0);
        want_kept();
        script(KEPT("\"2026-11-29T20:11:00Z\""));
        assert_int_equal(hm_namespaces_make(&config, &job, &error), rows[i].is_refused ? -1 : 0);
        assert_int_equal(is_kept_in_ledger(7), !rows[i].is_refused);
        assert_int_equal(job.namespaces.is_kept, !rows[i].is_refused);
        assert_int_equal(job.namespaces.is_begun, !rows[i].is_refused);
        if (rows[i].is_refused)
            assert_string_equal(error.text,
                                "your job 12 has what you keep on this node: wait for its end, or leave keep out");
        assert_int_equal(hm_ledger_remove(&config, 12, &error), 0);
    }
    /* Who asks for nothing of it is not held up. */
    assert_int_equal(set_up(state), 0);
    hm_job_init(&other, 12);
    other.uid = 1001;
    snprintf(other.cluster, sizeof(other.cluster), "test");
    other.namespaces.is_kept = true;
    assert_int_equal(hm_ledger_write(&config, &other, &error), 0);
    script(MADE);
    assert_int_equal(hm_namespaces_make(&config, &job, &error), 0);
    assert_false(job.namespaces.is_kept);
    assert_int_equal(hm_ledger_remove(&config, 12, &error), 0);
}

static void what_is_kept_and_fails(void **state)
{
    static const char *const scripts[] = {KEPT("null"), KEPT("\"soon\""), KEPT("\"2026-02-31T20:11:00Z\""),
                                          "echo 'hybridmem namespace: no' >&2; exit 1"};
    (void)state;
    for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        bool is_refusal = strstr(scripts[i], "exit 1") != NULL;
        assert_int_equal(set_up(state), 0);
        want_kept();
        script(scripts[i]);
        assert_int_equal(hm_namespaces_make(&config, &job, &error), -1);
        assert_int_equal(job.namespaces.is_begun, !is_refusal);
        assert_int_equal(job.namespaces.is_kept, !is_refusal);
        assert_int_equal(job.namespaces.n, 0);
    }
    /* A prolog behind its own job's end. */
    assert_int_equal(set_up(state), 0);
    want_kept();
    job.start_ns++;
    assert_int_equal(hm_namespaces_make(&config, &job, &error), -1);
    assert_string_equal(error.text, "job 7 has ended before its prolog");
}

/* While it looks, nothing is made; folders of jobs that are not there any more go, too. */
static void what_nobody_owns(void **state)
{
    char text[512], path[HM_DAX_PATH];
    struct hm_job other;
    (void)state;
    hm_job_init(&other, 12);
    assert_int_equal(hm_ledger_write(&config, &other, &error), 0);
    assert_int_equal(hm_dax_make_folders(&config, 12, &other.namespaces, &error), 0);
    assert_int_equal(hm_dax_make_folders(&config, 13, &other.namespaces, &error), 0);
    snprintf(text, sizeof(text), "flock -n %s/run/fsdax/lock true && exit 1; exit 0", scratch);
    script(text);
    assert_int_equal(hm_namespaces_reap(&config, "c", &error), 0);
    memset(text, 0, sizeof(text));
    FILE *file = fopen(scratch_path("told"), "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    const char *words = "reap\n--cluster\nc\n--patience\n0\n--living\n";
    assert_memory_equal(text, words, strlen(words));
    const char *living = text + strlen(words);
    assert_true(strcmp(living, "7.2,12.0\n") == 0 || strcmp(living, "12.0,7.2\n") == 0);
    assert_true(is_folder(hm_dax_job_folder(&config, 12, path)));
    assert_false(is_folder(hm_dax_job_folder(&config, 13, path)));
    /* What is in use is for the next one; its folder may still be mounted on. */
    assert_int_equal(hm_dax_make_folders(&config, 13, &other.namespaces, &error), 0);
    script("echo 'hybridmem namespace: namespace1.0 is in use' >&2; exit 3");
    assert_int_equal(hm_namespaces_reap(&config, NULL, &error), 0);
    assert_true(is_folder(hm_dax_job_folder(&config, 13, path)));
    script("echo 'hybridmem namespace: namespace1.0 is left' >&2; exit 1");
    assert_int_equal(hm_namespaces_reap(&config, NULL, &error), -1);
    assert_string_equal(error.text, "namespace1.0 is left");
    /* Others that are at work are not waited for. */
    assert_int_equal(unlink(scratch_path("told")), 0);
    int held = open(scratch_path("run/fsdax/lock"), O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(held, LOCK_EX), 0);
    assert_int_equal(hm_namespaces_reap(&config, NULL, &error), 0);
    assert_int_equal(access(scratch_path("told"), F_OK), -1);
    close(held);
    assert_int_equal(hm_namespaces_reap(&config, NULL, &error), -1);
    /* An entry that cannot be read may own anything. */
    assert_int_equal(unlink(scratch_path("told")), 0);
    assert_int_equal(truncate(scratch_path("run/jobs/12"), 10), 0);
    assert_int_equal(hm_namespaces_reap(&config, NULL, &error), -1);
    assert_int_equal(access(scratch_path("told"), F_OK), -1);
    assert_int_equal(unlink(scratch_path("run/jobs/12")), 0);
    assert_int_equal(unlink(scratch_path("run/jobs/7")), 0);
    script("");
    assert_int_equal(hm_namespaces_reap(&config, NULL, &error), 0);
    assert_told("reap --patience 0 --living  ");
    assert_int_equal(unlink(scratch_path("told")), 0);
    are_there = false;
    assert_int_equal(hm_namespaces_reap(&config, NULL, &error), 0);
    assert_int_equal(access(scratch_path("told"), F_OK), -1);
}

static void the_limit_of_wipes(void **state)
{
    (void)state;
    left_s = 45;
    script(MADE);
    assert_int_equal(hm_namespaces_make(&config, &job, &error), 0);
    assert_told("create --job 7 --restart 2 --cluster test --uid 1001 --size 1073741824 --sockets 0-1 --fs ext4 --map "
                "dram --patience 45 --limit 45 ");
    snprintf(config.path, sizeof(config.path), "/x/y.conf");
    job.plan.fsdax.is_kept = true;
    assert_int_equal(hm_namespaces_make(&config, &job, &error), -1); /* the answer has no date */
    assert_told("create --config /x/y.conf --job 7 --restart 2 --cluster test --uid 1001 --size 1073741824 --sockets "
                "0-1 --fs ext4 --map dram --patience 45 --limit 45 --keep ");
    script("echo 'hybridmem namespace: 1 of 9 MiB' >&2; exit 4");
    assert_int_equal(hm_namespaces_reap(&config, "c", &error), -1);
    assert_string_equal(error.text, "1 of 9 MiB; the next reap goes on, as systemd does not: /x/y.conf is not the "
                                    "installed configuration");
    assert_int_equal(handed_over, 0);
    config.path[0] = '\0';
    job.plan.fsdax.is_kept = false;
    job.namespaces.is_kept = false;
    job.namespaces.is_begun = true;
    assert_int_equal(hm_namespaces_remove(&config, &job, true, &error), -1);
    assert_int_equal(errno, ETIME);
    assert_string_equal(error.text, "1 of 9 MiB");
    assert_true(job.namespaces.is_begun && handed_over == 0); /* the ledger still has the job */
    assert_told("destroy --job 7 --restart 2 --cluster test --patience 45 --limit 45 ");
    assert_int_equal(hm_namespaces_reap(&config, "c", &error), 0);
    assert_told("reap --cluster c --patience 0 --limit 45 --living 7.2,u1001 ");
    assert_int_equal(handed_over, 1);
    handed_over = -1;
    assert_int_equal(hm_namespaces_reap(&config, "c", &error), -1);
    assert_string_equal(error.text, "1 of 9 MiB; the next reap goes on, as systemd does not: no systemd");
}

/* Another one's lock is waited for, but not for ever. */
static void nothing_is_left_of_the_limit(void **state)
{
    (void)state;
    left_s = 0;
    script("");
    assert_int_equal(unlink(scratch_path("told")) == 0 || errno == ENOENT, 1);
    assert_int_equal(hm_namespaces_remove(&config, &job, true, &error), -1);
    assert_int_equal(errno, ETIME);
    assert_int_equal(hm_namespaces_reap(&config, NULL, &error), 0);
    assert_int_equal(handed_over, 1);
    assert_int_equal(hm_namespaces_make(&config, &job, &error), -1);
    assert_string_equal(error.text, "the memory of earlier jobs is still being wiped");
    assert_true(job.namespaces.is_begun && job.namespaces.n == 0);
    int held = open(scratch_path("run/fsdax/lock"), O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(held, LOCK_EX), 0);
    error.text[0] = '\0';
    assert_int_equal(hm_namespaces_make(&config, &job, &error), -1);
    assert_string_equal(error.text, "the memory of earlier jobs is still being wiped");
    close(held);
    assert_int_equal(access(scratch_path("told"), F_OK), -1);
}

static void slow_memory(void **state)
{
    (void)state;
    snprintf(config.path, sizeof(config.path), "/x/y.conf");
    config.ram = HM_SLOW_RAM_MOVABLE;
    script("");
    assert_int_equal(hm_slowram_online(&config, &error), 0);
    assert_told("ram online --zone movable --patience 600 --config /x/y.conf ");
    config.path[0] = '\0';
    config.ram = HM_SLOW_RAM_NORMAL;
    script("echo 'hybridmem namespace: dax0.0: no' >&2; exit 3");
    assert_int_equal(hm_slowram_online(&config, &error), -1);
    assert_told("ram online --zone normal --patience 600 ");
    assert_string_equal(error.text, "dax0.0: no");
    is_missing = true;
    assert_int_equal(hm_slowram_online(&config, &error), -1);
    assert_non_null(strstr(error.text, "hybridmem was built without ndctl"));
    are_there = false;
    assert_int_equal(hm_slowram_online(&config, &error), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_is_made, set_up),
        cmocka_unit_test(what_fails),
        cmocka_unit_test_setup(what_is_kept, set_up),
        cmocka_unit_test(what_is_kept_has_one_job_at_a_time),
        cmocka_unit_test(what_is_kept_and_fails),
        cmocka_unit_test_setup(what_nobody_owns, set_up),
        cmocka_unit_test_setup(the_limit_of_wipes, set_up),
        cmocka_unit_test_setup(nothing_is_left_of_the_limit, set_up),
        cmocka_unit_test_setup(slow_memory, set_up),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
