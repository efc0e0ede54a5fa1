/* SPDX-License-Identifier: Apache-2.0 */
/* In srun, sbatch and salloc, as the user: refuses an option that is wrong in form, or not allowed for the user, before
 * there is a job. Where the configuration is wrong, every option is refused but that of a job that runs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/config/lookup.h"
#include "plugin.h"

/* Check the rules for the user. Account and partition are not known yet; the node's prolog checks these. */
static int judge_user(const struct hm_config *config, const struct hm_request *request, struct hm_error *error)
{
    struct hm_identity identity;
    /* The node may know a user whom this host does not, or does not know in time. */
    if (!hm_identity_is_needed(config) || hm_lookup_uid(getuid(), &identity, NULL) != 0)
        return 0;
    int result =
        hm_config_allows(config, request, identity.name, (const char *const *)identity.groups, NULL, NULL, error);
    hm_identity_free(&identity);
    return result;
}

/*
 * Does an srun in a job pass on the option of the job? The job was let run with it, so the rules of today are not for
 * it, nor is a mistake that the configuration has since. Users can set the variable: the node knows what the job has.
 */
static bool is_of_job(const char *text)
{
    const char *option = getenv(HM_OPTION_VARIABLE);
    return spank_context() == S_CTX_LOCAL && getenv("SLURM_JOB_ID") && option && strcmp(option, text) == 0;
}

/*
 * scrontab takes the options of plugins, and sends none of them to Slurm (22.05 to 26.05): it does not call
 * spank_init_post_opt, which would put them into the job. A job without what it asked for would be the worse answer.
 */
static int judge_program(const char *text, struct hm_error *error)
{
    if (strcmp(program_invocation_short_name, "scrontab") != 0)
        return 0;
    return hm_fail(error, ENOTSUP,
                   "--hybrid-mem=%.48s: scrontab does not send it to Slurm, and the job would run without it: give it "
                   "to srun in the job's command, or to an sbatch there",
                   text);
}

int hm_submit_judge(const char *text)
{
    static struct hm_config config;
    struct hm_request request;
    struct hm_error error = {0};
    if (hm_request_parse(text, &request, &error) == 0 && judge_program(text, &error) == 0 &&
        (is_of_job(text) || (hm_config_read(hm_option_config_path(), false, &config, &error) == 0 &&
                             (!config.enabled || judge_user(&config, &request, &error) == 0))))
        return 0;
    slurm_error("hybridmem: %s", error.text);
    return -1;
}
