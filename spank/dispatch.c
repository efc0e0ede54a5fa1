/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that Slurm calls. Each one passes the call on to the file of its context. */
#include <stdint.h>

#include <slurm/spank.h>

#include "plugin.h"

/* Only these are exported; everything else is compiled hidden. */
#pragma GCC visibility push(default)

SPANK_PLUGIN(hybridmem, 1)

int slurm_spank_init(spank_t spank, int count, char **words)
{
    hm_option_read_arguments(count, words);
    switch (spank_context()) {
    case S_CTX_LOCAL:
    case S_CTX_ALLOCATOR:
    case S_CTX_REMOTE:
        hm_option_register(spank);
        return 0;
    case S_CTX_SLURMD:
        hm_slurmd_begin();
        return 0;
    default:
        return 0;
    }
}

int slurm_spank_init_post_opt(spank_t spank, int count, char **words)
{
    (void)count;
    (void)words;
    if (spank_context() == S_CTX_REMOTE)
        hm_remote_prepare(spank);
    return 0;
}

int slurm_spank_task_init_privileged(spank_t spank, int count, char **words)
{
    (void)spank;
    (void)count;
    (void)words;
    if (spank_context() == S_CTX_REMOTE)
        hm_remote_enter();
    return 0;
}

int slurm_spank_task_init(spank_t spank, int count, char **words)
{
    (void)count;
    (void)words;
    if (spank_context() == S_CTX_REMOTE)
        hm_remote_place_task(spank);
    return 0;
}

int slurm_spank_task_exit(spank_t spank, int count, char **words)
{
    (void)count;
    (void)words;
    if (spank_context() == S_CTX_REMOTE)
        hm_remote_task_ended(spank);
    return 0;
}

int slurm_spank_exit(spank_t spank, int count, char **words)
{
    (void)spank;
    (void)count;
    (void)words;
    if (spank_context() == S_CTX_REMOTE)
        hm_remote_forget();
    return 0;
}

int slurm_spank_job_prolog(spank_t spank, int count, char **words)
{
    hm_option_read_arguments(count, words);
    hm_job_script_prolog(spank);
    return 0;
}

int slurm_spank_job_epilog(spank_t spank, int count, char **words)
{
    hm_option_read_arguments(count, words);
    hm_job_script_epilog(spank);
    return 0;
}

#pragma GCC visibility pop
