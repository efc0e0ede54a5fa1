/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the begin of a job that wants file systems or slow memory, and its weight for the split of the fast tier. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/tiers/node.h"
#include "core/topology/discover.h"
#include "job/hooks/begin.h"
#include "job/hooks/finish.h"
#include "job/hooks/provide.h"
#include "job/hooks/strangers.h"
#include "job/namespaces/namespaces.h"
#include "job/namespaces/slowram.h"
#include "job/node/company.h"
#include "slurm/cores.h"
#include "slurm/scontrol.h"
#include "slurm/squeue.h"
#include "unit/job/freshledger.h"
#include "unit/lib/machines.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

static struct hm_config config;
static struct hm_job job;
static struct hm_error error;
static bool has_left; /* see hm_begin_job */
static int n_made, n_removed, n_brought;
static bool ends;           /* the job ends while its file systems are made */
static bool meets_stranger; /* or a job that gets no entry comes to the node */
static bool can_bring = true;
static bool can_make;
static const char *cores; /* what scontrol says of the job's cores */
static const char *qos;   /* what squeue says of the job's QOS; NULL: it does not answer */
static int n_asked;
static unsigned n_cores; /* the node's number of cores by scontrol; the true one is 8 */

int hm_nodetiers_read(const struct hm_config *of, struct hm_tiers *tiers, struct hm_error *why)
{
    (void)of, (void)why;
    machine_make("optane", tiers);
    return 0;
}

int hm_slowram_online(const struct hm_config *of, struct hm_error *why)
{
    assert_int_not_equal(of->ram, HM_SLOW_RAM_NONE);
    n_brought++;
    return can_bring ? 0 : hm_fail(why, EIO, "dax0.0: no kmem");
}

int hm_scontrol_cpus(uint32_t job_id, const char *node, struct hm_set *cpus, struct hm_error *why)
{
    char text[128];
    assert_int_equal(job_id, 7);
    snprintf(text, sizeof(text), "JobId=7 BatchHost=n1 Nodes=n1 CPU_IDs=%s Mem=0 GRES= MinCPUsNode=1\n",
             cores ? cores : "");
    return hm_scontrol_parse_cpus(text, node, cpus, why);
}

int hm_scontrol_numbering(const char *node, struct hm_numbering *numbering, struct hm_error *why)
{
    assert_string_equal(node, "n1");
    if (n_cores == 0)
        return hm_fail(why, EIO, "scontrol ended with status 1");
    *numbering = (struct hm_numbering){.cores = n_cores, .threads = 1, .release = 2411};
    return 0;
}

/* Every job on the node has an entry. */
bool hm_strangers_are_there(const struct hm_config *of, const char *cgroups, uint32_t job_id)
{
    (void)of, (void)cgroups, (void)job_id;
    return false;
}

int hm_squeue_qos(uint32_t job_id, char *out, size_t size, struct hm_error *why)
{
    assert_int_equal(job_id, 7);
    n_asked++;
    if (!qos)
        return hm_fail(why, ETIMEDOUT, "squeue has not ended in time");
    snprintf(out, size, "%s", qos);
    return 0;
}

unsigned hm_cores_siblings(void)
{
    return 1;
}

/* The ledger must have the plan before anything is made, so that hm_reap finds what a crash leaves. */
int hm_namespaces_make(const struct hm_config *of, struct hm_job *what, struct hm_error *why)
{
    static struct hm_job entry;
    assert_int_equal(hm_ledger_read(of, 7, &entry, &error), 0);
    assert_true(entry.namespaces.is_begun && entry.has_plan && entry.plan.fsdax.is_wanted);
    assert_int_equal(entry.namespaces.restart, what->restart);
    n_made++;
    what->namespaces.is_begun = can_make;
    if (!can_make)
        return hm_fail(why, EIO, "region0 is full");
    if (ends)
        assert_int_equal(hm_ledger_remove(of, 7, &error), 0);
    if (meets_stranger)
        assert_int_equal(hm_company_pass(of, 8, &error), 0);
    what->namespaces.n = 1;
    what->namespaces.each[0] = (struct hm_job_namespace){.name = "namespace0.0", .device = "/dev/pmem0", .fs = "ext4"};
    return 0;
}

int hm_namespaces_remove(const struct hm_config *of, struct hm_job *what, bool waits, struct hm_error *why)
{
    (void)of, (void)why;
    assert_true(what->namespaces.is_begun && waits);
    n_removed++;
    return 0;
}

/* No test here has an earlier entry under the job's number, so there is nothing to finish. */
int hm_finish_job(const struct hm_config *of, uint32_t job_id, const char *warning, const int *exit_status)
{
    (void)of, (void)job_id, (void)warning, (void)exit_status;
    fail_msg("a job was finished");
    return -1;
}

int hm_discover(const char *xml, struct hm_topology *topology, struct hm_error *why)
{
    (void)xml, (void)topology;
    return hm_fail(why, ENOTSUP, "not here");
}

static const struct {
    const char *request, *by_default; /* one of them is set */
    const char *cores;                /* the job's cores, from Slurm */
    unsigned n_cores;                 /* the node's number of cores, from Slurm; 0: not known */
    bool can_make;
    int n_made;
    uint32_t n; /* number of file systems in the entry */
    const char *refusal, *warning;
} wants[] = {
    {"spill", NULL, NULL, 8, true, 0, 0, "", ""},
    {"fsdax,size=1G", NULL, NULL, 8, true, 1, 1, "", ""},
    {"fsdax,size=1G", NULL, NULL, 8, false, 1, 0, "--hybrid-mem=fsdax,size=1G: region0 is full", ""},
    {"fsdax,size=4G", NULL, NULL, 8, true, 0, 0, "--hybrid-mem=fsdax,size=4G: 2.0 GiB do not fit on socket 0", ""},
    {"fsdax,size=1G,socket=local", NULL, "3", 8, true, 1, 1, "", ""},
    {"fsdax,size=1G,keep", NULL, NULL, 8, true, 0, 0, "keep is not offered on this node: hybridmem.conf sets no", ""},
    {"fsdax,size=1G,socket=remote", NULL, "3", 8, true, 1, 1, "", ""},
    {"fsdax,size=1G,socket=remote", NULL, "3-4", 8, true, 0, 0, "on sockets 0-1, and no other socket has memory", ""},
    {"fsdax,size=1G,socket=local", NULL, "what", 8, true, 0, 0, "the job's cores are not known before it starts", ""},
    {"fsdax,size=1G,socket=local", NULL, NULL, 8, true, 0, 0, "the job's cores are not known before it starts", ""},
    {"fsdax,size=1G,socket=local", NULL, "3", 0, true, 0, 0, "the job's cores are not known before it starts", ""},
    {"fsdax,size=1G,socket=local", NULL, "3", 9, true, 0, 0,
     "--hybrid-mem=fsdax,size=1G,socket=local: the sockets of the job's cores are not known: Slurm counts 9 cores "
     "with ThreadsPerCore=1 on this node, which has 8 CPUs, 1 to a core: ",
     ""},
    {"fsdax,size=1G", NULL, "3", 9, true, 1, 1, "", ""},
    {"fsdax", NULL, NULL, 8, true, 0, 0, "fsdax wants a size", ""},
    {NULL, "fsdax,size=1G", NULL, 8, true, 1, 1, "", ""},
    {NULL, "fsdax,size=1G", NULL, 8, false, 1, 0, "",
     "the partition's default mode is not used: --hybrid-mem=fsdax,size=1G: region0 is full"},
};

/*
 * If a request cannot be met, the entry gets a refusal, which the tasks report. If the request was the partition's
 * default mode, the entry gets a warning.
 */
static void file_systems_are_made(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(wants); i++) {
        const struct hm_begin begin = {.job_id = 7,
                                       .het_job_id = HM_NO_ID,
                                       .restart = 2,
                                       .uid = getuid(),
                                       .gid = getgid(),
                                       .request = wants[i].request,
                                       .partition = "main",
                                       .node = "n1"};
        ledger_empty(&config);
        config.n_rules = wants[i].by_default != NULL;
        config.rule[0] = (struct hm_config_rule){.kind = HM_RULE_PARTITION, .name = "main"};
        snprintf(config.rule[0].default_mode, sizeof(config.rule[0].default_mode), "%s",
                 wants[i].by_default ? wants[i].by_default : "");
        n_made = 0;
        cores = wants[i].cores;
        n_cores = wants[i].n_cores;
        can_make = wants[i].can_make;
        assert_int_equal(hm_begin_job(&config, "", &begin, &has_left, &error), 0);
        assert_int_equal(hm_provide_memory(&config, 7, &error), 0);
        assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
        if (n_made != wants[i].n_made || job.namespaces.n != wants[i].n || !strstr(job.refusal, wants[i].refusal) ||
            (!wants[i].refusal[0] && job.refusal[0]))
            fail_msg("row %zu: made %d, %u, \"%s\"", i, n_made, job.namespaces.n, job.refusal);
        assert_int_equal(job.n_warnings, wants[i].warning[0] != '\0');
        assert_non_null(strstr(job.n_warnings > 0 ? job.warning[0] : "", wants[i].warning));
        assert_string_equal(job.request, wants[i].warning[0]   ? ""
                                         : wants[i].by_default ? wants[i].by_default
                                                               : wants[i].request);
        assert_int_equal(job.has_plan, job.request[0] && wants[i].n_made > 0);
    }
}

/* With a configuration that cannot be read, every request is refused but `off`, which needs none. */
static void a_broken_configuration_refuses_all_but_off(void **state)
{
    (void)state;
    static const struct {
        const char *request, *refusal;
    } asks[] = {{"spill", "hybridmem.conf:3: no"}, {"spil", "unknown mode"}, {"off", ""}, {NULL, ""}};
    config.n_rules = 0;
    for (size_t i = 0; i < N_ROWS(asks); i++) {
        const struct hm_begin begin = {
            .job_id = 7, .het_job_id = HM_NO_ID, .uid = getuid(), .gid = getgid(), .request = asks[i].request};
        ledger_empty(&config);
        assert_int_equal(hm_begin_job(&config, "hybridmem.conf:3: no", &begin, &has_left, &error), 0);
        assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
        assert_non_null(strstr(job.refusal, asks[i].refusal));
        assert_int_equal(job.refusal[0] != '\0', asks[i].refusal[0] != '\0');
        assert_int_equal(job.recorded, asks[i].refusal[0] != '\0');
    }
}

/* Begins a job whose prolog makes a file system. */
static void begin_fsdax(void)
{
    const struct hm_begin begin = {
        .job_id = 7, .het_job_id = HM_NO_ID, .uid = getuid(), .gid = getgid(), .request = "fsdax,size=1G"};
    ledger_empty(&config);
    config.n_rules = 0;
    assert_int_equal(hm_begin_job(&config, "", &begin, &has_left, &error), 0);
}

/* If a prolog takes too long, Slurm runs the epilog anyway. The prolog itself removes what it made too late. */
static void a_prolog_after_its_epilog_leaves_nothing(void **state)
{
    (void)state;
    begin_fsdax();
    can_make = ends = true;
    n_removed = 0;
    assert_int_equal(hm_provide_memory(&config, 7, &error), -1);
    ends = false;
    assert_int_equal(n_removed, 1);
    assert_int_equal(access(scratch_path("run/jobs/7"), F_OK), -1);
    assert_int_equal(hm_provide_memory(&config, 7, &error), -1);
    assert_int_equal(n_removed, 1);
}

/* A prolog may wait for an hour: what others put into the entry meanwhile stays there. */
static void what_others_note_meanwhile_is_kept(void **state)
{
    (void)state;
    begin_fsdax();
    can_make = meets_stranger = true;
    assert_int_equal(hm_provide_memory(&config, 7, &error), 0);
    meets_stranger = false;
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
    assert_true(job.had_company && job.has_strangers);
    assert_int_equal(job.namespaces.n, 1);
}

/* Slow memory is brought online for jobs that may use it; a failure is a warning. Each row is tried with and without
 * success. */
static void slow_memory_is_brought_online(void **state)
{
    (void)state;
    static const struct {
        const char *request;
        enum hm_slow_ram ram;
        int n_brought;
    } asks[] = {
        {"slow", HM_SLOW_RAM_NONE, 0},
        {"slow", HM_SLOW_RAM_MOVABLE, 1},
        {"pmem", HM_SLOW_RAM_NORMAL, 1},
        {"interleave", HM_SLOW_RAM_MOVABLE, 1},
        {"spill,socket=local", HM_SLOW_RAM_MOVABLE, 1},
        {"migrate", HM_SLOW_RAM_MOVABLE, 1},
        {"isolate", HM_SLOW_RAM_MOVABLE, 1},
        {"fast", HM_SLOW_RAM_MOVABLE, 0},
        {"dram", HM_SLOW_RAM_MOVABLE, 0},
        {"cxl", HM_SLOW_RAM_MOVABLE, 0},
        {"off", HM_SLOW_RAM_MOVABLE, 0},
        {"fsdax,size=1G", HM_SLOW_RAM_MOVABLE, 0},
        {"slowly", HM_SLOW_RAM_MOVABLE, 0},
        {NULL, HM_SLOW_RAM_MOVABLE, 0},
    };
    config.n_rules = 0;
    for (size_t i = 0; i < 2 * N_ROWS(asks); i++) {
        size_t row = i / 2;
        const struct hm_begin begin = {
            .job_id = 7, .het_job_id = HM_NO_ID, .uid = getuid(), .gid = getgid(), .request = asks[row].request};
        ledger_empty(&config);
        config.ram = asks[row].ram;
        can_bring = i % 2 == 0;
        can_make = true;
        n_brought = 0;
        assert_int_equal(hm_begin_job(&config, "", &begin, &has_left, &error), 0);
        assert_int_equal(n_brought, 0);
        assert_int_equal(hm_provide_memory(&config, 7, &error), 0);
        assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
        if (n_brought != asks[row].n_brought)
            fail_msg("%s: brought %d times", asks[row].request, n_brought);
        assert_int_equal(job.n_warnings, n_brought > 0 && !can_bring);
        if (job.n_warnings > 0) {
            assert_string_equal(job.warning[0], "slow memory was not brought online: dax0.0: no kmem");
            assert_string_equal(job.refusal, "");
        }
    }
    config.ram = HM_SLOW_RAM_NONE;
}

/* slurmctld is asked for a job's QOS only where that counts: a QOS has a weight, and the job gets a migrator. */
static void a_job_is_weighed(void **state)
{
    (void)state;
    static const struct {
        const char *request, *account, *partition, *qos;
        bool has_qos_rule;
        int n_asked;
        uint64_t weight;
        const char *warning;
    } rows[] = {
        {"migrate", "physics", "main", "high", true, 1, 9, ""},
        {"isolate", "physics", "main", "normal", true, 1, 4, ""},
        {"migrate", "physics", "main", NULL, true, 1, 4, "its share of the fast tier is not that of its QOS: squeue"},
        {"migrate", "physics", "main", "high", false, 0, 4, ""},
        {"spill", "physics", "main", "high", true, 0, 4, ""}, /* one of its steps may still ask for a migrator */
        {NULL, NULL, "main", "high", true, 0, 2, ""},
        {"migrate,fast=", "physics", "main", "high", true, 0, 4, ""}, /* it is refused */
        {"migrate", NULL, NULL, "normal", true, 1, 1, ""},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct hm_begin begin = {.job_id = 7,
                                       .het_job_id = HM_NO_ID,
                                       .uid = getuid(),
                                       .gid = getgid(),
                                       .request = rows[i].request,
                                       .account = rows[i].account,
                                       .partition = rows[i].partition};
        ledger_empty(&config);
        config.rule[0] = (struct hm_config_rule){.kind = HM_RULE_ACCOUNT, .name = "physics", .weight = 4};
        config.rule[1] = (struct hm_config_rule){.kind = HM_RULE_PARTITION, .name = "main", .weight = 2};
        config.rule[2] = (struct hm_config_rule){.kind = HM_RULE_QOS, .name = "high", .weight = 9};
        config.n_rules = rows[i].has_qos_rule ? 3 : 2;
        qos = rows[i].qos;
        n_asked = 0;
        assert_int_equal(hm_begin_job(&config, "", &begin, &has_left, &error), 0);
        assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
        if (n_asked != rows[i].n_asked || job.fair_weight != rows[i].weight)
            fail_msg("row %zu: asked %d, weight %llu", i, n_asked, (unsigned long long)job.fair_weight);
        assert_int_equal(job.n_warnings, rows[i].warning[0] != '\0');
        assert_non_null(strstr(job.n_warnings > 0 ? job.warning[0] : "", rows[i].warning));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_systems_are_made),
        cmocka_unit_test(a_broken_configuration_refuses_all_but_off),
        cmocka_unit_test(a_prolog_after_its_epilog_leaves_nothing),
        cmocka_unit_test(what_others_note_meanwhile_is_kept),
        cmocka_unit_test(slow_memory_is_brought_online),
        cmocka_unit_test(a_job_is_weighed),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
