/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hybridmem-job: what root does on the node before and after a job (started by the plugin's prolog and epilog hooks),
 * and at boot.
 *
 *       hybridmem-job begin --job ID --uid UID --gid GID [--request TEXT] [--user ...] ...
 *       hybridmem-job end --job ID [--exit-status N]
 *       hybridmem-job reap [--boot] [--wait] [--grace SECONDS]
 *       hybridmem-job lookup uid|user|group WORD     (core/config/lookup.h)
 *
 * It fails only for wrong arguments, for a caller that is not root, and for a lookup without an answer: what goes wrong
 * with a job's memory must not fail the job.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "base/spawn.h"
#include "begin.h"
#include "core/config/lookup.h"
#include "finish.h"
#include "job/ledger/log.h"
#include "job/namespaces/hooklimit.h"
#include "job/namespaces/wipelater.h"
#include "job/node/company.h"
#include "job/programs/damonstart.h"
#include "provide.h"
#include "reap.h"

#define BOOT_MS 10000 /* for records that were kept back */

/* Runs reap. If systemd is to wipe what is left, returns the reason why it is left, for put_off; otherwise "". */
static struct hm_error clean_up(const struct hm_config *config, const char *config_error,
                                const struct hm_arguments *arguments, struct hm_reap reap)
{
    struct hm_error left = {0};
    const char *cluster = config->cluster[0] ? config->cluster : arguments->word[HM_ARGUMENT_CLUSTER];
    /* At boot no job of any cluster is running, so the namespaces of all clusters are looked for. */
    reap.namespaces.cluster = arguments->given[HM_ARGUMENT_BOOT] ? NULL : cluster;
    reap.node = arguments->word[HM_ARGUMENT_NODE];
    reap.is_config_known = !config_error[0];
    if (!hm_reap(config, &reap, &left))
        left.text[0] = '\0';
    return left;
}

/* Does what may take long and what no job waits for. It runs last, so that it delays nothing else. */
static void put_off(const struct hm_config *config, const struct hm_arguments *arguments, const struct hm_error *left)
{
    struct hm_error error = {0};
    if (left->text[0] &&
        hm_wipe_hand_over(config, (uint32_t)arguments->number[HM_ARGUMENT_JOB], left->text, &error) != 0)
        hm_log(HM_LOG_ERROR, "namespaces that belong to no job could not be removed: %s", error.text);
    hm_damon_reap(config);
}

static int begin(const struct hm_config *config, const char *config_error, const struct hm_arguments *arguments)
{
    struct hm_error error = {0};
    const struct hm_begin facts = {
        .job_id = (uint32_t)arguments->number[HM_ARGUMENT_JOB],
        .restart = (uint32_t)arguments->number[HM_ARGUMENT_RESTART],
        .het_job_id =
            arguments->given[HM_ARGUMENT_HET_JOB] ? (uint32_t)arguments->number[HM_ARGUMENT_HET_JOB] : HM_NO_ID,
        .end_s = arguments->given[HM_ARGUMENT_END_TIME] ? arguments->number[HM_ARGUMENT_END_TIME] : 0,
        .uid = (uid_t)arguments->number[HM_ARGUMENT_UID],
        .gid = (gid_t)arguments->number[HM_ARGUMENT_GID],
        .request = arguments->word[HM_ARGUMENT_REQUEST],
        .user = arguments->word[HM_ARGUMENT_USER],
        .account = arguments->word[HM_ARGUMENT_ACCOUNT],
        .partition = arguments->word[HM_ARGUMENT_PARTITION],
        .cluster = arguments->word[HM_ARGUMENT_CLUSTER],
        .node = arguments->word[HM_ARGUMENT_NODE],
    };
    if (!arguments->given[HM_ARGUMENT_JOB] || !arguments->given[HM_ARGUMENT_UID] || !arguments->given[HM_ARGUMENT_GID])
        return hm_arguments_refuse("begin needs --job, --uid and --gid");
    /* Where hybridmem is switched off, new jobs run without it. For those in the ledger, end and reap do their work. */
    if (!config->enabled) {
        if (hm_company_pass(config, facts.job_id, &error) != 0)
            hm_log(HM_LOG_ERROR, "job %u: it may be taken for no company of others: %s", facts.job_id, error.text);
        return 0;
    }
    /* The entry is made first, as what follows may be held up by a file system that hangs. */
    struct hm_reap how = {.grace_s = config->reap_grace_s};
    bool is_entered = hm_begin_job(config, config_error, &facts, &how.namespaces.has_left, &error) == 0;
    if (!is_entered || hm_begin_topology(config, &error) != 0)
        hm_log(HM_LOG_ERROR, "%s", error.text);
    struct hm_error left = clean_up(config, config_error, arguments, how);
    if (is_entered && hm_provide_memory(config, facts.job_id, &error) != 0)
        hm_log(HM_LOG_ERROR, "%s", error.text);
    put_off(config, arguments, &left);
    return 0;
}

static int end(const struct hm_config *config, const char *config_error, const struct hm_arguments *arguments)
{
    int exit_status = (int)arguments->number[HM_ARGUMENT_EXIT_STATUS];
    if (!arguments->given[HM_ARGUMENT_JOB])
        return hm_arguments_refuse("end needs --job");
    bool has_left = hm_finish_job(config, (uint32_t)arguments->number[HM_ARGUMENT_JOB], NULL,
                                  arguments->given[HM_ARGUMENT_EXIT_STATUS] ? &exit_status : NULL) == 1;
    const struct hm_reap how = {.grace_s = config->reap_grace_s, .namespaces = {.has_left = has_left}};
    struct hm_error left = clean_up(config, config_error, arguments, how);
    put_off(config, arguments, &left);
    (void)hm_reap_records(config);
    return 0;
}

struct boot {
    const struct hm_config *config;
    int log;
};

/* Runs in a child. */
static int reap_records(void *data)
{
    const struct boot *boot = data;
    (void)dup2(boot->log, STDERR_FILENO);
    (void)hm_reap_records(boot->config);
    return 0;
}

/* At boot slurmd waits for this, and the folder of records may hang. A record that is not put there waits for the end
 * of the next job, or another reap. */
static void reap_records_at_boot(const struct hm_config *config)
{
    struct hm_error error = {0};
    struct boot boot = {config, fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)};
    const struct hm_spawn_call call = {.run = reap_records, .data = &boot, .kept = boot.log};
    pid_t pid = hm_spawn_call(&call, &error);
    if (pid < 0)
        hm_log(HM_LOG_ERROR, "records are still kept back: %s", error.text);
    else if (hm_spawn_wait_for(pid, BOOT_MS) < 0 && errno == ETIMEDOUT)
        hm_log(HM_LOG_ERROR, "records are still kept back: %s has not answered for %d s", config->record_dir,
               BOOT_MS / 1000);
    if (boot.log >= 0)
        close(boot.log);
}

static int reap(const struct hm_config *config, const char *config_error, const struct hm_arguments *arguments)
{
    struct hm_error error = {0};
    bool is_boot = arguments->given[HM_ARGUMENT_BOOT];
    /* At boot no job can be running, so no job has a grace. */
    struct hm_reap how = {.grace_s = is_boot ? 0 : config->reap_grace_s,
                          .namespaces = {.waits = arguments->given[HM_ARGUMENT_WAIT]}};
    if (arguments->given[HM_ARGUMENT_GRACE])
        how.grace_s = (unsigned)arguments->number[HM_ARGUMENT_GRACE];
    struct hm_error left = clean_up(config, config_error, arguments, how);
    if (is_boot && hm_begin_topology(config, &error) != 0)
        hm_log(HM_LOG_ERROR, "%s", error.text);
    put_off(config, arguments, &left);
    if (is_boot)
        reap_records_at_boot(config);
    while (!is_boot && hm_reap_records(config)) {
    }
    return 0;
}

static const struct {
    const char *name;
    int (*run)(const struct hm_config *, const char *, const struct hm_arguments *);
} commands[] = {{"begin", begin}, {"end", end}, {"reap", reap}};

int main(int argc, char **argv)
{
    static struct hm_config config;
    struct hm_arguments arguments = {.word = {[HM_ARGUMENT_CONFIG] = hm_config_path()}};
    struct hm_error error = {0};
    size_t command = 0;

    if (argc > 1 && strcmp(argv[1], "lookup") == 0) {
        if (argc != 4)
            return hm_arguments_refuse("lookup wants two words");
        alarm(HM_HOOKLIMIT_OWN_S); /* whoever asked may have gone */
        return hm_lookup_answer(&(struct hm_question){argv[2], argv[3]});
    }
    while (argc > 1 && command < sizeof(commands) / sizeof(*commands) && strcmp(argv[1], commands[command].name) != 0)
        command++;
    if (argc < 2 || command == sizeof(commands) / sizeof(*commands))
        return hm_arguments_refuse("the first word is begin, end, reap or lookup");
    bool is_reap = commands[command].run == reap;
    int status =
        is_reap ? hm_arguments_of_reap(argc - 1, argv + 1, &arguments) : hm_arguments_of_hook(argc, argv, &arguments);
    if (status >= 0)
        return status;
    if (geteuid() != 0) {
        fprintf(stderr, "%s: only root may run this\n", is_reap ? "hybridmem reap" : "hybridmem-job");
        return 2;
    }
    if (hm_config_read(arguments.word[HM_ARGUMENT_CONFIG], false, &config, &error) != 0) {
        hm_config_defaults(&config);
        config.record_dir[0] = '\0'; /* the site may have another: records wait (job/store/store.h) */
        hm_log(HM_LOG_ERROR, "%s", error.text);
    }
    hm_log_set_level(config.log_level);
    /* When Slurm gave up waiting, nobody reads the log any more: the work must be completed all the same. */
    signal(SIGPIPE, SIG_IGN);
    /*
     * Slurm waits for begin and end, so they have a time limit: a file system that hangs must not block the node. Reap
     * completes what the limit cuts short.
     */
    if (!is_reap)
        hm_hooklimit_begin();
    else
        config.fsdax_wipe_limit_s = 0; /* no limit, as nobody waits for reap */
    return commands[command].run(&config, error.text, &arguments);
}
