/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how the DAMON broker finds out in whose job a client runs. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/process.h"
#include "job/ledger/ledger.h"
#include "migrator/damon/broker/peer.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define SCOPE "/sys/fs/cgroup/system.slice/slurmstepd.scope/"

static struct hm_config config;

/* Writes the ledger's entry of a job, as the plugin does. */
static void enter(uint32_t job_id, uint32_t uid, const char *cgroup)
{
    static struct hm_job job;
    struct hm_error error = {{0}};
    hm_config_defaults(&config);
    snprintf(config.run_dir, sizeof(config.run_dir), "%s/run", scratch);
    hm_job_init(&job, job_id);
    job.uid = uid;
    snprintf(job.cgroup, sizeof(job.cgroup), "%s", cgroup);
    /* The user's request tries to add fields to the entry. */
    snprintf(job.request, sizeof(job.request), "a\nuid 0\ncgroup /sys/fs/cgroup/user.slice");
    if (hm_ledger_write(&config, &job, &error) != 0)
        fail_msg("%s", error.text);
}

static void the_ledger_tells_whose_step_it_is(void **state)
{
    (void)state;
    static const struct {
        const char *cgroup;
        int owner; /* -1: nobody's */
    } rows[] = {
        {SCOPE "job_7/step_0/slurm", 1001},
        {SCOPE "job_7/step_batch/user/task_0", 1001},
        {SCOPE "job_8/step_0", 1002},
        {SCOPE "job_7", -1},
        {SCOPE "job_7/own", -1},
        {SCOPE "job_77/step_0", -1},
        {SCOPE "job_9/step_0", -1},
        {"/sys/fs/cgroup/user.slice/user-1003.slice/user@1003.service/job_7/step_0", -1},
        {"/sys/fs/cgroup/user.slice/step_0", -1},
        {"/sys/fs/cgroup/step_0", -1},
        {"", -1},
    };
    enter(7, 1001, SCOPE "job_7");
    enter(8, 1002, SCOPE "job_8");
    enter(10, 1003, ""); /* no step has begun */
    scratch_write(scratch_path("run/jobs/11"), "torn");
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        uid_t owner = 5;
        int found = hm_damon_peer_owner(config.run_dir, rows[i].cgroup, &owner) == 0 ? (int)owner : -1;
        if (found != rows[i].owner)
            fail_msg("%s: %d", rows[i].cgroup, found);
    }
}

static void a_process_of_no_job_is_refused(void **state)
{
    (void)state;
    struct hm_damon_peer peer;
    struct hm_error error = {{0}};
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    int result = hm_damon_peer_find(config.run_dir, pair[0], &peer, &error);
    assert_int_equal(result, geteuid() == 0 ? 0 : -1); /* root may be anywhere */
    if (result != 0)
        assert_int_equal(errno, EPERM);
    else
        close(peer.pidfd);
    struct hm_process own;
    assert_int_equal(hm_process_identify(getpid(), &own), 0);
    assert_int_equal(peer.start_time, own.start_time);
    assert_in_range(peer.age_s, 0, 3600); /* it began with this test */
    close(pair[0]);
    close(pair[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_ledger_tells_whose_step_it_is),
        cmocka_unit_test(a_process_of_no_job_is_refused),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
