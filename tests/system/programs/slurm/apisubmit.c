/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of Slurm's API: it submits a held job without the filters and plugins that Slurm's own commands load.
 *
 *     apisubmit [SETTING...]
 *
 * Each SETTING, NAME=VALUE, is one of the job's SPANK variables. Writes the job's number and ends with 0, or
 * ends with 1 and tells why on the standard error.
 */
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <unistd.h>

static unsigned job_id_of(const submit_response_msg_t *answer)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
    return answer->step_id.job_id;
#else
    return answer->job_id;
#endif
}

int main(int argc, char **argv)
{
    char script[] = "#!/bin/sh\n", folder[] = "/tmp", name[] = "api", path[] = "PATH=/usr/bin";
    char *environment[] = {path, NULL};
    job_desc_msg_t job;
    submit_response_msg_t *answer = NULL;
    slurm_init(NULL);
    slurm_init_job_desc_msg(&job);
    job.name = name;
    job.script = script;
    job.work_dir = folder;
    job.environment = environment;
    job.env_size = 1;
    job.user_id = getuid();
    job.group_id = getgid();
    job.priority = 0; /* held */
    job.spank_job_env = argv + 1;
    job.spank_job_env_size = (uint32_t)argc - 1;
    int result = slurm_submit_batch_job(&job, &answer);
    if (result != 0)
        slurm_perror("apisubmit");
    else
        printf("%u\n", job_id_of(answer));
    return result != 0;
}
