/* SPDX-License-Identifier: Apache-2.0 */
#include "reapfixture.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/heldlock.h"
#include "job/hooks/reap.h"
#include "job/ledger/others.h"
#include "job/ledger/unread.h"
#include "job/namespaces/namespaces.h"
#include "job/programs/monitor.h"
#include "slurm/scontrol.h"
#include "slurm/squeue.h"
#include "unit/job/freshledger.h"
#include "unit/lib/scratch.h"

struct hm_config config;
struct hm_job job;
int left_by, n_reaped, n_reads, n_asked, running_by_slurm;
bool is_living, can_drain, is_used_again;
unsigned sought_grace_s;
uid_t monitors;
char drained[HM_ERROR_TEXT];

int __real_hm_ledger_read(const struct hm_config *of, uint32_t job_id, struct hm_job *what, struct hm_error *why);
int __wrap_hm_ledger_read(const struct hm_config *of, uint32_t job_id, struct hm_job *what, struct hm_error *why);

int __wrap_hm_ledger_read(const struct hm_config *of, uint32_t job_id, struct hm_job *what, struct hm_error *why)
{
    n_reads++;
    return __real_hm_ledger_read(of, job_id, what, why);
}

int __real_hm_ledger_read_part(int folder, uint32_t job_id, const struct hm_fields *part, struct hm_job *what,
                               struct hm_error *why);
int __wrap_hm_ledger_read_part(int folder, uint32_t job_id, const struct hm_fields *part, struct hm_job *what,
                               struct hm_error *why);

int __wrap_hm_ledger_read_part(int folder, uint32_t job_id, const struct hm_fields *part, struct hm_job *what,
                               struct hm_error *why)
{
    n_reads++;
    return __real_hm_ledger_read_part(folder, job_id, part, what, why);
}

int hm_namespaces_reap(const struct hm_config *of, const struct hm_namespaces_reap *how, struct hm_error *why)
{
    assert_ptr_equal(of, &config);
    assert_string_equal(how->cluster, "test");
    assert_false(how->waits || how->has_left);
    n_reaped++;
    return left_by ? hm_fail(why, left_by, "hybridmem:test:7.0.0 is left: no wipe") : 0;
}

/* The entries here have no namespaces. */
int hm_namespaces_remove(const struct hm_config *of, struct hm_job *what, bool waits, struct hm_error *why)
{
    (void)of, (void)waits, (void)why;
    assert_false(what->namespaces.is_begun);
    return 0;
}

int hm_scontrol_name(uint32_t job_id, const char *likely, char *name, size_t size, struct hm_error *why)
{
    (void)job_id, (void)likely, (void)name, (void)size;
    return hm_fail(why, EIO, "no slurmctld");
}

int hm_squeue_is_running(uint32_t job_id, const char *node, struct hm_error *why)
{
    assert_string_equal(node, job.node); /* the job may run on another node meanwhile */
    assert_in_range(job_id, 7, 16);
    assert_int_equal(hm_heldlock_check("squeue", NULL), 0);
    n_asked++;
    return running_by_slurm >= 0 ? running_by_slurm : hm_fail(why, ETIMEDOUT, "no answer");
}

int hm_scontrol_drain(const char *node, const char *reason, struct hm_error *why)
{
    snprintf(drained, sizeof(drained), "%s: %s", node, reason);
    return can_drain ? 0 : hm_fail(why, EIO, "no slurmctld");
}

bool hm_unread_is_living(const struct hm_config *of, const char *cgroups, uint32_t job_id, unsigned grace_s)
{
    assert_ptr_equal(of, &config);
    assert_string_equal(cgroups, "/sys/fs/cgroup");
    assert_int_equal(job_id, 7);
    sought_grace_s = grace_s;
    int lock = open(scratch_path("run/jobs/lock"), O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(lock, LOCK_EX | LOCK_NB), 0); /* the lock is free, so that others need not wait */
    close(lock);
    if (is_used_again)
        assert_int_equal(hm_ledger_write(&config, &job, NULL), 0);
    return is_living;
}

const char *hm_monitor_program(void)
{
    static char path[128];
    snprintf(path, sizeof(path), "%s/monitor", scratch);
    return path;
}

int hm_monitor_identity(uid_t *uid, gid_t *gid, struct hm_error *error)
{
    (void)error;
    *uid = monitors;
    *gid = getegid();
    return 0;
}

int reap_set_up(void **state)
{
    (void)state;
    monitors = geteuid();
    ledger_with_job(&config, &job);
    left_by = n_reaped = n_asked = running_by_slurm = 0;
    can_drain = true;
    is_living = true;
    is_used_again = false;
    drained[0] = '\0';
    return 0;
}

void reap(const char *node, bool is_config_known)
{
    const struct hm_reap how = {
        .grace_s = 60, .node = node, .is_config_known = is_config_known, .namespaces = {.cluster = "test"}};
    struct hm_error left = {0};
    assert_false(hm_reap(&config, &how, &left));
}
