/* SPDX-License-Identifier: Apache-2.0 */
/* Answers to what a job's life (lifeplay.h) asks of the node, of Slurm and of the directory service. They are the same
 * in each life, unless the call that asks meets a fault. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/heldlock.h"
#include "core/config/lookup.h"
#include "core/plan/plan.h"
#include "core/tiers/node.h"
#include "core/topology/discover.h"
#include "job/hooks/strangers.h"
#include "job/namespaces/slowram.h"
#include "job/programs/damonstart.h"
#include "slurm/cores.h"
#include "slurm/scontrol.h"
#include "slurm/squeue.h"
#include "unit/lib/faults.h"
#include "unit/lib/machines.h"

int __wrap_hm_abilities_read(const struct hm_tiers *tiers, struct hm_abilities *abilities, struct hm_error *error);
void __wrap_hm_abilities_read_weights(const struct hm_tiers *tiers, struct hm_abilities *abilities);

int hm_nodetiers_read(const struct hm_config *config, struct hm_tiers *tiers, struct hm_error *error)
{
    (void)config;
    int number = faults_meet(FAULT(FAULT_FILES), "the tiers");
    tiers->n_tiers = 0;
    if (number)
        return hm_fail(error, number, "the topology cannot be read");
    machine_make("optane", tiers);
    return hm_set_parse(&tiers->topology.allowed_cpus, "0-7", error);
}

int __wrap_hm_abilities_read(const struct hm_tiers *tiers, struct hm_abilities *abilities, struct hm_error *error)
{
    (void)tiers;
    assert_int_equal(hm_heldlock_check("a look at the node", NULL), 0);
    return hm_abilities_of_kernel("6.12", abilities, error);
}

/* The weights are as they were. */
void __wrap_hm_abilities_read_weights(const struct hm_tiers *tiers, struct hm_abilities *abilities)
{
    (void)tiers, (void)abilities;
}

int hm_damon_ensure(const struct hm_config *config, const char *home_cgroup, struct hm_error *error)
{
    (void)config, (void)home_cgroup, (void)error;
    return 0;
}

char *hm_damon_socket_path(const struct hm_config *config, char *out, size_t size)
{
    snprintf(out, size, "%s/damon.sock", config->run_dir);
    return out;
}

int hm_slowram_online(const struct hm_config *config, struct hm_error *error)
{
    (void)config;
    return hm_fail(error, ENODEV, "not here");
}

int hm_discover(const char *xml, struct hm_topology *topology, struct hm_error *error)
{
    (void)xml, (void)topology;
    return hm_fail(error, ENOTSUP, "not here");
}

int hm_scontrol_cpus(uint32_t job_id, const char *node, struct hm_set *cpus, struct hm_error *error)
{
    (void)job_id, (void)node, (void)cpus;
    return hm_fail(error, EIO, "not here");
}

int hm_scontrol_name(uint32_t job_id, const char *likely, char *name, size_t size, struct hm_error *error)
{
    (void)job_id, (void)likely, (void)name, (void)size;
    return hm_fail(error, EIO, "not here");
}

/* Reaps come after the job's life. */
int hm_squeue_is_running(uint32_t job_id, const char *node, struct hm_error *error)
{
    (void)job_id, (void)node, (void)error;
    return 0;
}

/* Every job on the node has an entry. */
bool hm_strangers_are_there(const struct hm_config *of, const char *cgroups, uint32_t job_id)
{
    (void)of, (void)cgroups, (void)job_id;
    assert_int_equal(hm_heldlock_check("a look at cgroups", NULL), 0);
    return false;
}

int hm_squeue_qos(uint32_t job_id, char *qos, size_t size, struct hm_error *error)
{
    (void)job_id, (void)qos, (void)size;
    return hm_fail(error, EIO, "not here");
}

int hm_scontrol_numbering(const char *node, struct hm_numbering *numbering, struct hm_error *error)
{
    (void)node, (void)numbering;
    return hm_fail(error, EIO, "not here");
}

int hm_scontrol_usable(const char *node, unsigned *cores, struct hm_error *error)
{
    (void)node;
    assert_int_equal(hm_heldlock_check("a look at the node", NULL), 0);
    int number = faults_meet(FAULT(FAULT_FILES), "the node's cores");
    *cores = 8;
    return number ? hm_fail(error, number, "slurmctld is silent") : 0;
}

int hm_scontrol_drain(const char *node, const char *reason, struct hm_error *error)
{
    (void)node, (void)reason;
    return hm_fail(error, EIO, "not here");
}

int hm_lookup_uid(uid_t uid, struct hm_identity *identity, struct hm_error *error)
{
    static char *no_groups[] = {NULL};
    int number = faults_meet(FAULT(FAULT_FILES) | FAULT(FAULT_MEMORY), "the look-up of a user");
    *identity = (struct hm_identity){.uid = uid, .gid = getegid(), .name = "alice", .groups = no_groups};
    return number ? hm_fail(error, EIO, "uid %u cannot be looked up", uid) : 0;
}

void hm_identity_free(struct hm_identity *identity)
{
    identity->groups = NULL;
}

int hm_lookup_user(const char *name, uid_t *uid, gid_t *gid, struct hm_error *error)
{
    (void)name, (void)error;
    *uid = 4321;
    *gid = 4321;
    return 0;
}

int hm_lookup_group(const char *name, gid_t *gid, struct hm_error *error)
{
    (void)name, (void)error;
    *gid = getegid();
    return 0;
}
