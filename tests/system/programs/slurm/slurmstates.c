/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers a test that often asks for the states of Slurm's jobs and nodes. One of Slurm's commands for each question
 * would take a tenth of a second of an emulated CPU, away from the job that the test waits for. This program reads a
 * question from each line of its input, and answers with one line. The line is empty where slurmctld does not answer or
 * does not know the job.
 *
 *     job ID    the state of a job; where the id stands for several jobs, that of the first one
 *     jobs      how many jobs have not ended, those that wait for their epilog among them
 *     nodes     NAME=STATE of each node; STATE is IDLE, COMPLETING (an epilog is at work) or OTHER
 */
#include <slurm/slurm.h>
#include <slurm/slurm_version.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const state_names[JOB_END] = {
    [JOB_PENDING] = "PENDING",     [JOB_RUNNING] = "RUNNING",     [JOB_SUSPENDED] = "SUSPENDED",
    [JOB_COMPLETE] = "COMPLETED",  [JOB_CANCELLED] = "CANCELLED", [JOB_FAILED] = "FAILED",
    [JOB_TIMEOUT] = "TIMEOUT",     [JOB_NODE_FAIL] = "NODE_FAIL", [JOB_PREEMPTED] = "PREEMPTED",
    [JOB_BOOT_FAIL] = "BOOT_FAIL", [JOB_DEADLINE] = "DEADLINE",   [JOB_OOM] = "OUT_OF_MEMORY",
};

static const char *state_name(uint32_t state)
{
    if (state & JOB_COMPLETING)
        return "COMPLETING";
    return (state & JOB_STATE_BASE) < JOB_END ? state_names[state & JOB_STATE_BASE] : "";
}

static int load_job(job_info_msg_t **found, uint32_t job_id)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
    slurm_step_id_t job = SLURM_STEP_ID_INITIALIZER;
    job.job_id = job_id;
    return slurm_load_job(found, job, SHOW_ALL);
#else
    return slurm_load_job(found, job_id, SHOW_ALL);
#endif
}

static void tell_job(uint32_t job_id)
{
    job_info_msg_t *found;
    if (load_job(&found, job_id) != 0)
        return;
    if (found->record_count > 0)
        printf("%s", state_name(found->job_array->job_state));
    slurm_free_job_info_msg(found);
}

static void tell_jobs(void)
{
    job_info_msg_t *found;
    unsigned living = 0;
    if (slurm_load_jobs(0, &found, SHOW_ALL) != 0)
        return;
    for (uint32_t i = 0; i < found->record_count; i++) {
        uint32_t state = found->job_array[i].job_state;
        living += (state & JOB_COMPLETING) || (state & JOB_STATE_BASE) < JOB_COMPLETE;
    }
    printf("%u", living);
    slurm_free_job_info_msg(found);
}

static void tell_nodes(void)
{
    node_info_msg_t *found;
    if (slurm_load_node(0, &found, SHOW_ALL) != 0)
        return;
    for (uint32_t i = 0; i < found->record_count; i++) {
        const node_info_t *node = &found->node_array[i];
        if (!node->name)
            continue;
        const char *other = node->node_state & NODE_STATE_COMPLETING ? "COMPLETING" : "OTHER";
        printf("%s=%s ", node->name, node->node_state == NODE_STATE_IDLE ? "IDLE" : other);
    }
    slurm_free_node_info_msg(found);
}

int main(void)
{
    char question[64];
    slurm_init(NULL);
    while (fgets(question, sizeof(question), stdin)) {
        if (strncmp(question, "job ", 4) == 0)
            tell_job((uint32_t)strtoul(question + 4, NULL, 10));
        else if (strcmp(question, "jobs\n") == 0)
            tell_jobs();
        else if (strcmp(question, "nodes\n") == 0)
            tell_nodes();
        printf("\n");
        fflush(stdout);
    }
    return 0;
}
