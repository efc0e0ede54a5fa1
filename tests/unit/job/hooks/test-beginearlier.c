/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the begin of a job if there already is an entry under its number. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/heldlock.h"
#include "core/config/lookup.h"
#include "job/hooks/begin.h"
#include "job/hooks/finish.h"
#include "job/hooks/strangers.h"
#include "unit/job/freshledger.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

static struct hm_config config;
static struct hm_job job;
static struct hm_error error;
static bool is_unreadable;
static bool leaves; /* memory of the job that is finished is left for a later reap */
static int n_finished;
static bool can_finish = true;
static bool is_ended_by_another; /* another process ends the earlier job, in the time that it is given */
static void (*meanwhile)(void);  /* what others do while the job's user is looked up */
static int n_lookups;

int __wrap_hm_lookup_uid(uid_t uid, struct hm_identity *identity, struct hm_error *why);
ssize_t __real_read(int fd, void *out, size_t size);
ssize_t __wrap_read(int fd, void *out, size_t size);

static char *path_of_entry(void)
{
    return scratch_path("run/jobs/7");
}

/* Reading the entry fails, as on a broken disk. */
ssize_t __wrap_read(int fd, void *out, size_t size)
{
    struct stat status;
    if (!is_unreadable || stat(path_of_entry(), &status) != 0 || (size_t)status.st_size != size)
        return __real_read(fd, out, size);
    errno = EIO;
    return -1;
}

bool __wrap_hm_process_wait(const struct hm_process *process, int patience_ms);

bool __wrap_hm_process_wait(const struct hm_process *process, int patience_ms)
{
    assert_true(is_ended_by_another);
    assert_int_equal(process->pid, getpid());
    assert_in_range(patience_ms, 1, 20000);
    assert_int_equal(hm_heldlock_check("the wait for a process", NULL), 0);
    is_ended_by_another = false;
    return true;
}

int hm_finish_job(const struct hm_config *of, uint32_t job_id, const char *warning, const int *exit_status)
{
    assert_int_equal(job_id, 7);
    assert_non_null(strstr(warning, "number was used again"));
    assert_null(exit_status);
    n_finished++;
    if (can_finish)
        assert_int_equal(hm_ledger_remove(of, job_id, &error), 0);
    return can_finish ? leaves : -1;
}

/* Every job on the node has an entry. */
bool hm_strangers_are_there(const struct hm_config *of, const char *cgroups, uint32_t job_id)
{
    (void)of, (void)cgroups, (void)job_id;
    return false;
}

/* Stands for the directory service, which takes its time and knows nobody. */
int __wrap_hm_lookup_uid(uid_t uid, struct hm_identity *identity, struct hm_error *why)
{
    (void)identity;
    n_lookups++;
    if (meanwhile)
        meanwhile();
    return hm_fail(why, ENOENT, "no user %u", uid);
}

/* ------------------------------------------------------------------ the entry before */

static void nothing(void)
{
    assert_int_equal(unlink(path_of_entry()), 0);
}

static void an_entry_of_its_own(void)
{
}

static void an_entry_of_an_earlier_run(void)
{
    job.restart = 1;
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
}

/* An entry that a step of an earlier run made: a step may not know the restart count. */
static void an_entry_of_a_step(void)
{
    job.is_entered = false;
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
}

static void a_torn_entry(void)
{
    assert_int_equal(truncate(path_of_entry(), 100), 0);
}

static void an_empty_entry(void)
{
    assert_int_equal(truncate(path_of_entry(), 0), 0);
}

static void an_entry_of_another_version(void)
{
    FILE *file = fopen(path_of_entry(), "r+");
    assert_non_null(file);
    assert_true(fputs("hybridmem job 9\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void an_entry_that_others_may_read(void)
{
    assert_int_equal(chmod(path_of_entry(), 0644), 0);
}

static void a_folder(void)
{
    nothing();
    assert_int_equal(mkdir(path_of_entry(), 0700), 0);
}

static void a_link(void)
{
    nothing();
    assert_int_equal(symlink("lock", path_of_entry()), 0);
}

static void an_entry_on_a_failing_disk(void)
{
    is_unreadable = true;
}

static const struct {
    void (*leave)(void);
    const char *user; /* user in the entry afterwards; "new": a fresh entry; "": it cannot be read */
    int result, n_finished;
    const char *why; /* the text of a failure */
} rows[] = {
    {nothing, "new", 0, 0, ""},
    {an_entry_of_its_own, "old", 0, 0, ""},
    {an_entry_of_an_earlier_run, "new", 0, 1, ""},
    {an_entry_of_a_step, "new", 0, 1, ""},
    {a_torn_entry, "new", 0, 0, ""},
    {an_empty_entry, "new", 0, 0, ""},
    {an_entry_of_another_version, "new", 0, 0, ""},
    {an_entry_that_others_may_read, "old", -1, 0, "the ledger's entry of job 7 must be a file of uid"},
    {a_folder, "", -1, 0, "the ledger's entry of job 7 must be a file of uid"},
    {a_link, "", -1, 0, "cannot open the ledger's entry of job 7"},
    {an_entry_on_a_failing_disk, "old", -1, 0, "cannot read the ledger's entry of job 7: Input/output error"},
};

/*
 * An entry whose content nobody can read (EBADMSG) is replaced. One that cannot be opened or loaded stays, as it may
 * say what has to be undone. Each row is tried twice: a job that is finished leaves nothing, or memory for a later
 * reap.
 */
static void what_is_there_decides(void **state)
{
    (void)state;
    const struct hm_begin begin = {
        .job_id = 7, .het_job_id = HM_NO_ID, .uid = getuid(), .gid = getgid(), .user = "new"};
    for (size_t k = 0; k < 2 * N_ROWS(rows); k++) {
        size_t i = k / 2;
        bool has_left = true;
        leaves = k % 2 == 1;
        ledger_with_job(&config, &job);
        job.uid = getuid();
        job.is_entered = true;
        snprintf(job.user, sizeof(job.user), "old");
        assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
        n_finished = 0;
        rows[i].leave();
        error.text[0] = '\0';
        int result = hm_begin_job(&config, "", &begin, &has_left, &error);
        is_unreadable = false;
        if (result != rows[i].result || n_finished != rows[i].n_finished || !strstr(error.text, rows[i].why))
            fail_msg("row %zu: %d, %d finished, \"%s\"", i, result, n_finished, error.text);
        assert_int_equal(has_left, leaves && n_finished > 0);
        chmod(path_of_entry(), 0600);
        bool is_read = hm_ledger_read(&config, 7, &job, &error) == 0;
        assert_string_equal(is_read ? job.user : "", rows[i].user);
    }
}

static struct hm_begin begin_of_new(const char *request)
{
    return (struct hm_begin){
        .job_id = 7, .het_job_id = HM_NO_ID, .uid = getuid(), .gid = getgid(), .user = "new", .request = request};
}

static void note_a_change(void)
{
    job.n_changes = 1;
    job.change[0] = (struct hm_change){.path = "/setting", .before = "1", .after = "3"};
    job.monitor.pid = 4000001;
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
}

/* Where the earlier job cannot be finished, what it has changed on the node is undone at the end of the new one. */
static void what_cannot_be_finished_hands_its_changes_on(void **state)
{
    (void)state;
    bool has_left;
    const struct hm_begin begin = begin_of_new(NULL);
    ledger_with_job(&config, &job);
    job.uid = getuid() + 1;
    snprintf(job.user, sizeof(job.user), "old");
    note_a_change();
    can_finish = false;
    assert_int_equal(hm_begin_job(&config, "", &begin, &has_left, &error), 0);
    can_finish = true;
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
    assert_string_equal(job.user, "new");
    assert_int_equal(job.monitor.pid, 0);
    assert_int_equal(job.n_changes, 1);
    assert_string_equal(job.change[0].path, "/setting");
    assert_string_equal(job.change[0].before, "1");
    assert_string_equal(job.change[0].after, "3");
}

static void have_a_rule_for_a_user(void)
{
    config.n_rules = 1;
    config.rule[0] = (struct hm_config_rule){.kind = HM_RULE_USER, .name = "another", .has_modes = true};
}

/* At the start of a job each of its nodes would ask for its user. */
static void the_directory_is_asked_only_where_a_rule_needs_it(void **state)
{
    (void)state;
    const struct hm_begin begin = begin_of_new("slow");
    for (int has_rule = 0; has_rule < 2; has_rule++) {
        bool has_left;
        ledger_with_job(&config, &job);
        assert_int_equal(hm_ledger_remove(&config, 7, &error), 0);
        if (has_rule)
            have_a_rule_for_a_user();
        n_lookups = 0;
        assert_int_equal(hm_begin_job(&config, "", &begin, &has_left, &error), 0);
        assert_int_equal(n_lookups, has_rule);
        assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
        assert_string_equal(job.refusal, "");
    }
    config.n_rules = 0;
}

/* So the job gets no second set of namespaces. */
static void what_another_prolog_enters_meanwhile_stays(void **state)
{
    (void)state;
    bool has_left;
    const struct hm_begin begin = begin_of_new("slow");
    ledger_with_job(&config, &job);
    assert_int_equal(hm_ledger_remove(&config, 7, &error), 0);
    job.uid = getuid();
    job.is_entered = true;
    snprintf(job.user, sizeof(job.user), "old");
    have_a_rule_for_a_user();
    meanwhile = note_a_change;
    assert_int_equal(hm_begin_job(&config, "", &begin, &has_left, &error), 0);
    meanwhile = NULL;
    config.n_rules = 0;
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
    assert_string_equal(job.user, "old");
    assert_int_equal(job.monitor.pid, 4000001);
    assert_int_equal(job.n_changes, 1);
}

/* What that process still needs of the entry is not replaced under its hands. */
static void who_ends_the_earlier_job_is_waited_for(void **state)
{
    (void)state;
    bool has_left;
    const struct hm_begin begin = begin_of_new(NULL);
    ledger_with_job(&config, &job);
    job.uid = getuid();
    job.restart = 1;
    assert_int_equal(hm_process_identify(getpid(), &job.finisher), 0);
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
    is_ended_by_another = true;
    assert_int_equal(hm_begin_job(&config, "", &begin, &has_left, &error), 0);
    assert_false(is_ended_by_another);
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
    assert_string_equal(job.user, "new");
    assert_int_equal(job.finisher.pid, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_there_decides),
                                       cmocka_unit_test(what_cannot_be_finished_hands_its_changes_on),
                                       cmocka_unit_test(the_directory_is_asked_only_where_a_rule_needs_it),
                                       cmocka_unit_test(what_another_prolog_enters_meanwhile_stays),
                                       cmocka_unit_test(who_ends_the_earlier_job_is_waited_for)};
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
