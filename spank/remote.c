/* SPDX-License-Identifier: Apache-2.0 */
/* The hooks in slurmstepd, which run as root, and in its task processes: hm_remote_enter runs as root there, and
 * hm_remote_place_task as the user. */
#include "plugin.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <slurm/slurm.h>

#include "base/files.h"
#include "base/size.h"
#include "job/step/step.h"
#include "job/step/task.h"
#include "slurm/multiprog.h"

_Static_assert(HM_STEP_BATCH == SLURM_BATCH_SCRIPT, "Slurm has renumbered its batch step");
_Static_assert(HM_STEP_EXTERN == SLURM_EXTERN_CONT, "Slurm has renumbered its extern step");
_Static_assert(HM_STEP_INTERACTIVE == SLURM_INTERACTIVE_STEP, "Slurm has renumbered its interactive step");

/* These live from hm_remote_prepare to hm_remote_forget. Each task process has a copy of the step, and shares the
 * outcome. */
static struct hm_step *step;
static struct hm_outcome *outcome;

/* One byte more than the longest text, so that a text that is too long is not cut to a valid one. */
static char option_text[HM_REQUEST_TEXT + 1];
static bool has_option;

void hm_remote_take_option(const char *text)
{
    hm_text_copy(option_text, text, sizeof(option_text));
    has_option = true;
}

/*
 * Is the option's text inherited from the job? Slurm keeps the job's text in its environment for the sruns of a script.
 */
static bool is_inherited(spank_t spank)
{
    char text[HM_REQUEST_TEXT + 1];
    return has_option && spank_getenv(spank, HM_OPTION_VARIABLE, text, sizeof(text)) == ESPANK_SUCCESS &&
           strcmp(text, option_text) == 0;
}

static uint32_t get_number(spank_t spank, spank_item_t item, uint32_t otherwise)
{
    uint32_t number;
    return spank_get_item(spank, item, &number) == ESPANK_SUCCESS ? number : otherwise;
}

/*
 * When the job's time limit ends, in seconds since 1970; 0: unknown. This is used where the prolog was not told the
 * end. No SPANK item says this, but the environment of srun's steps does (Slurm 23.02 and later). The user can change
 * the variable, but it only affects calculations of the user's own migrator.
 */
static uint64_t end_of_job(spank_t spank)
{
    char text[24];
    uint64_t seconds;
    if (spank_getenv(spank, "SLURM_JOB_END_TIME", text, sizeof(text)) != ESPANK_SUCCESS ||
        hm_size_parse_number(text, 1, UINT32_MAX, &seconds, NULL) != 0)
        return 0;
    return seconds;
}

/* Collect what Slurm tells of the step. Returns 0, or -1 where the id of the job, step, user or group is not known. */
static int gather(spank_t spank, struct hm_step_facts *facts)
{
    char *cores = NULL;
    if (spank_get_item(spank, S_JOB_ID, &facts->job_id) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_STEPID, &facts->step_id) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_UID, &facts->uid) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_GID, &facts->gid) != ESPANK_SUCCESS)
        return -1;
    facts->config_path = hm_option_config_path();
    facts->option = has_option ? option_text : NULL;
    facts->option_is_inherited = is_inherited(spank);
    facts->restart = get_number(spank, S_SLURM_RESTART_COUNT, 0);
    facts->n_tasks = get_number(spank, S_JOB_LOCAL_TASK_COUNT, 1);
    facts->n_nodes = get_number(spank, S_JOB_NNODES, 1);
    facts->array_job_id = get_number(spank, S_JOB_ARRAY_ID, 0);
    facts->array_task_id = get_number(spank, S_JOB_ARRAY_TASK_ID, HM_NO_ID);
    /* For a job that is not an array, Slurm 22.05 gives 0, and 24.11 the job's own id without a task id. */
    if (facts->array_job_id == 0 || facts->array_task_id == NO_VAL)
        facts->array_job_id = facts->array_task_id = HM_NO_ID;
    facts->end_s = end_of_job(spank);
    if (spank_get_item(spank, S_JOB_ALLOC_CORES, &cores) == ESPANK_SUCCESS)
        facts->cores = cores;
    return 0;
}

/* Does the environment name file systems of another job, the one in which this job was submitted? It is enough to look
 * at the first of the variables. */
static bool names_others_folders(spank_t spank)
{
    static char value[HM_DAX_VALUE];
    char folder[HM_DAX_PATH];
    hm_dax_folder(&step->config, folder);
    return spank_getenv(spank, hm_dax_variable_name(0), value, sizeof(value)) == ESPANK_SUCCESS &&
           strstr(value, folder);
}

/* Set the variables that tell the step's tasks of the job's file systems (HYBRIDMEM_FSDAX_...), and remove those that
 * another job has left. */
static void set_environment(spank_t spank)
{
    static char value[HM_DAX_VALUE];
    const char *name;
    if (step->namespaces.n == 0 && !names_others_folders(spank))
        return;
    for (int n = 0; (name = hm_dax_variable_name(n)); n++) {
        if (!hm_dax_variable(&step->config, step->job_id, &step->namespaces, n, value))
            spank_unsetenv(spank, name);
        else if (spank_setenv(spank, name, value, 1) != ESPANK_SUCCESS)
            slurm_error("hybridmem: job %u: Slurm does not take the variable %s", step->job_id, name);
    }
}

void hm_remote_prepare(spank_t spank)
{
    struct hm_step_facts facts = {0};
    struct hm_error error = {0};
    if (gather(spank, &facts) != 0) {
        slurm_error("hybridmem: Slurm does not tell the ids of job, step and user: nothing is placed or measured");
        return;
    }
    step = calloc(1, sizeof(*step));
    if (!step) {
        slurm_error("hybridmem: job %u: no memory: nothing is placed", facts.job_id);
        return;
    }
    outcome = hm_outcome_map();
    if (hm_step_prepare(&facts, step, &error) != 0)
        slurm_error("hybridmem: job %u: %s", facts.job_id, error.text);
    set_environment(spank);
}

void hm_remote_enter(void)
{
    if (!step)
        return;
    hm_task_join(step, outcome);
    hm_task_mount(step);
}

static int get_variable(void *spank, const char *name, char *out, size_t size)
{
    spank_err_t result = spank_getenv(spank, name, out, (int)size);
    if (result == ESPANK_SUCCESS)
        return 0;
    errno = result == ESPANK_ENV_NOEXIST ? ENOENT : result == ESPANK_NOSPACE ? ENAMETOOLONG : EINVAL;
    return -1;
}

static int set_variable(void *spank, const char *name, const char *value)
{
    if (spank_setenv(spank, name, value, 1) == ESPANK_SUCCESS)
        return 0;
    errno = ENOMEM;
    return -1;
}

static int unset_variable(void *spank, const char *name)
{
    spank_err_t result = spank_unsetenv(spank, name);
    if (result == ESPANK_SUCCESS || result == ESPANK_ENV_NOEXIST)
        return 0;
    errno = EINVAL;
    return -1;
}

/*
 * The program of the calling task and its arguments; NULL: not known. With srun --multi-prog Slurm does not tell them,
 * but the configuration that names the program; the arguments are left out then.
 */
static char *const *find_command(spank_t spank)
{
    static char program[PATH_MAX], *own[] = {program, NULL};
    char **words = NULL;
    int n_words = 0;
    uint32_t task;
    if (spank_get_item(spank, S_JOB_ARGV, &n_words, &words) != ESPANK_SUCCESS || n_words <= 0)
        return NULL;
    if (!hm_multiprog_is(words))
        return words;
    return spank_get_item(spank, S_TASK_GLOBAL_ID, &task) == ESPANK_SUCCESS &&
                   hm_multiprog_find(words[1], task, program, sizeof(program)) == 0
               ? own
               : NULL;
}

void hm_remote_place_task(spank_t spank)
{
    bool loads_library = step && step->is_active &&
                         hm_request_wants(&step->request, HM_WANTS_PRELOAD | HM_WANTS_GUIDE | HM_WANTS_PROFILE);
    const struct hm_environment environment = {get_variable, set_variable, unset_variable, spank,
                                               loads_library ? find_command(spank) : NULL};
    /* Slurm itself ends this process in the same way when a task cannot start. This works whether plugstack.conf calls
     * the plugin optional or required. */
    if (step && hm_task_place(step, outcome, &environment) != 0)
        _exit(1);
}

void hm_remote_task_ended(spank_t spank)
{
    struct hm_error error = {0};
    int status = 0;
    if (!step || spank_get_item(spank, S_TASK_EXIT_STATUS, &status) != ESPANK_SUCCESS)
        return;
    if (hm_task_ended(step, outcome, status, &error) != 0)
        slurm_error("hybridmem: job %u: %s", step->job_id, error.text);
}

void hm_remote_forget(void)
{
    struct hm_error error = {0};
    if (step && hm_step_end(step, &error) != 0)
        slurm_error("hybridmem: job %u: %s", step->job_id, error.text);
    hm_outcome_unmap(outcome);
    free(step);
    outcome = NULL;
    step = NULL;
}
