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
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "base/size.h"
#include "base/words.h"
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

enum argument_id {
    CONFIG,
    REQUEST,
    USER,
    ACCOUNT,
    PARTITION,
    CLUSTER,
    NODE,
    N_WORDS, /* arguments before this have a text, those from JOB to GRACE a number, and the rest no value */
    JOB = N_WORDS,
    UID,
    GID,
    RESTART,
    HET_JOB,
    END_TIME,
    EXIT_STATUS,
    GRACE,
    BOOT,
    WAIT,
    HELP,
    N_ARGUMENTS
};

struct arguments {
    bool given[N_ARGUMENTS];
    const char *word[N_WORDS];
    uint64_t number[N_ARGUMENTS];
};

static const struct option options[] = {
    {"config", required_argument, NULL, CONFIG},
    {"request", required_argument, NULL, REQUEST},
    {"user", required_argument, NULL, USER},
    {"account", required_argument, NULL, ACCOUNT},
    {"partition", required_argument, NULL, PARTITION},
    {"cluster", required_argument, NULL, CLUSTER},
    {"node", required_argument, NULL, NODE},
    {"job", required_argument, NULL, JOB},
    {"uid", required_argument, NULL, UID},
    {"gid", required_argument, NULL, GID},
    {"restart", required_argument, NULL, RESTART},
    {"het-job", required_argument, NULL, HET_JOB},
    {"end-time", required_argument, NULL, END_TIME},
    {"exit-status", required_argument, NULL, EXIT_STATUS},
    {"help", no_argument, NULL, HELP},
    {0},
};

#define REAP                                                                                                           \
    "hybridmem reap [--config FILE] [--cluster NAME] [--boot] [--wait]\n"                                              \
    "                      [--grace SECONDS]\n"

static const char usage_text[] = "Usage: hybridmem-job begin --job ID --uid UID --gid GID [--config FILE]\n"
                                 "           [--restart N] [--het-job ID] [--end-time UNIX] [--request TEXT]\n"
                                 "           [--user NAME] [--account NAME] [--partition NAME]\n"
                                 "           [--cluster NAME] [--node NAME]\n"
                                 "       hybridmem-job end --job ID [--config FILE] [--cluster NAME]\n"
                                 "           [--exit-status N]\n"
                                 "       hybridmem-job lookup uid|user|group WORD\n"
                                 "       " REAP;

static const char reap_text[] = "Usage: " REAP "\n"
                                "Puts right what dead jobs left on a node: it ends their monitors, restores\n"
                                "settings that were changed for them, writes their records, and removes their\n"
                                "files. Slurm's prolog and epilog do it, too; it can be run at any time.\n\n";

static const char help_text[] = "  --grace SECONDS  how long a dead job waits for its epilog (default: reap_grace\n"
                                "                   of hybridmem.conf)\n"
                                "  --boot           no job can be running: wait for none, and find the node's\n"
                                "                   topology\n"
                                "  --wait           wait for others who make or wipe DAX file systems, and up to ten\n"
                                "                   minutes for file systems that are in use\n"
                                "  --cluster NAME   look only for DAX file systems of this cluster, unless\n"
                                "                   hybridmem.conf names one (default: of any cluster)\n"
                                "  --config FILE    instead of the installed hybridmem.conf\n";

static const char status_text[] = "\nExit status: 0; 2 for wrong arguments, or a user other than root.\n";

static void print_reap_help(void)
{
    printf("%s%s"
           "  -h, --help       this text\n"
           "  -V, --version    the version\n%s",
           reap_text, help_text, status_text);
}

static int take_grace(void *data, const char *text, struct hm_error *error)
{
    struct arguments *arguments = data;
    arguments->given[GRACE] = true;
    return hm_size_parse_number(text, 0, INT32_MAX, &arguments->number[GRACE], error);
}

/* Reads the arguments of reap, which people call: it speaks as the other commands of hybridmem. Returns -1 to go on, or
 * the exit status. */
static int parse_reap(int argc, char **argv, struct arguments *arguments)
{
    const char *config = NULL;
    const struct hm_word table[] = {
        {"config", .path = &config},
        {"cluster", .text = &arguments->word[CLUSTER]},
        {"node", .text = &arguments->word[NODE]},
        {"boot", .flag = &arguments->given[BOOT]},
        {"wait", .flag = &arguments->given[WAIT]},
        {"grace", .take = take_grace},
    };
    const struct hm_words words = {"reap", print_reap_help, table, sizeof(table) / sizeof(table[0]), arguments};
    int status = hm_words_parse(argc, argv, &words);
    if (status >= 0)
        return status;
    if (optind < argc)
        return hm_words_refuse(&words, argv[optind]);
    if (config && access(config, R_OK) != 0) {
        fprintf(stderr, "hybridmem reap: %s: %s\n", config, strerror(errno));
        return HM_WORDS_BAD;
    }
    if (config)
        arguments->word[CONFIG] = config;
    return -1;
}

static int usage(const char *why)
{
    fprintf(stderr, "error: %s\n%s", why, usage_text);
    return 2;
}

/*
 * Only wrong values of the arguments that say which job it is are an error. All others come from Slurm's
 * environment, and a wrong one is ignored: it must not fail a prolog or epilog.
 */
static int take(struct arguments *arguments, int id, const char *name, const char *text)
{
    struct hm_error error = {0};
    uint64_t most = id == EXIT_STATUS ? INT32_MAX : UINT32_MAX;
    arguments->given[id] = true;
    if (id < N_WORDS)
        arguments->word[id] = text;
    else if (id < BOOT && hm_size_parse_number(text, 0, most, &arguments->number[id], &error) != 0) {
        fprintf(stderr, "error: --%s: %s\n", name, error.text);
        arguments->given[id] = false;
        return id == JOB || id == UID || id == GID ? -1 : 0;
    }
    return 0;
}

/* Runs reap. If systemd is to wipe what is left, returns the reason why it is left, for put_off; otherwise "". */
static struct hm_error clean_up(const struct hm_config *config, const char *config_error,
                                const struct arguments *arguments, struct hm_reap reap)
{
    struct hm_error left = {0};
    const char *cluster = config->cluster[0] ? config->cluster : arguments->word[CLUSTER];
    /* At boot no job of any cluster is running, so the namespaces of all clusters are looked for. */
    reap.namespaces.cluster = arguments->given[BOOT] ? NULL : cluster;
    reap.node = arguments->word[NODE];
    reap.is_config_known = !config_error[0];
    if (!hm_reap(config, &reap, &left))
        left.text[0] = '\0';
    return left;
}

/* Does what may take long and what no job waits for. It runs last, so that it delays nothing else. */
static void put_off(const struct hm_config *config, const struct arguments *arguments, const struct hm_error *left)
{
    struct hm_error error = {0};
    if (left->text[0] && hm_wipe_hand_over(config, (uint32_t)arguments->number[JOB], left->text, &error) != 0)
        hm_log(HM_LOG_ERROR, "namespaces that belong to no job could not be removed: %s", error.text);
    hm_damon_reap(config);
}

static int begin(const struct hm_config *config, const char *config_error, const struct arguments *arguments)
{
    struct hm_error error = {0};
    const struct hm_begin facts = {
        .job_id = (uint32_t)arguments->number[JOB],
        .restart = (uint32_t)arguments->number[RESTART],
        .het_job_id = arguments->given[HET_JOB] ? (uint32_t)arguments->number[HET_JOB] : HM_NO_ID,
        .end_s = arguments->given[END_TIME] ? arguments->number[END_TIME] : 0,
        .uid = (uid_t)arguments->number[UID],
        .gid = (gid_t)arguments->number[GID],
        .request = arguments->word[REQUEST],
        .user = arguments->word[USER],
        .account = arguments->word[ACCOUNT],
        .partition = arguments->word[PARTITION],
        .cluster = arguments->word[CLUSTER],
        .node = arguments->word[NODE],
    };
    if (!arguments->given[JOB] || !arguments->given[UID] || !arguments->given[GID])
        return usage("begin needs --job, --uid and --gid");
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

static int end(const struct hm_config *config, const char *config_error, const struct arguments *arguments)
{
    int exit_status = (int)arguments->number[EXIT_STATUS];
    if (!arguments->given[JOB])
        return usage("end needs --job");
    bool has_left = hm_finish_job(config, (uint32_t)arguments->number[JOB], NULL,
                                  arguments->given[EXIT_STATUS] ? &exit_status : NULL) == 1;
    const struct hm_reap how = {.grace_s = config->reap_grace_s, .namespaces = {.has_left = has_left}};
    struct hm_error left = clean_up(config, config_error, arguments, how);
    put_off(config, arguments, &left);
    (void)hm_reap_records(config);
    return 0;
}

static int reap(const struct hm_config *config, const char *config_error, const struct arguments *arguments)
{
    struct hm_error error = {0};
    /* At boot no job can be running, so no job has a grace. */
    struct hm_reap how = {.grace_s = arguments->given[BOOT] ? 0 : config->reap_grace_s,
                          .namespaces = {.waits = arguments->given[WAIT]}};
    if (arguments->given[GRACE])
        how.grace_s = (unsigned)arguments->number[GRACE];
    struct hm_error left = clean_up(config, config_error, arguments, how);
    if (arguments->given[BOOT] && hm_begin_topology(config, &error) != 0)
        hm_log(HM_LOG_ERROR, "%s", error.text);
    put_off(config, arguments, &left);
    while (hm_reap_records(config) && !arguments->given[BOOT]) { /* at boot slurmd waits, otherwise nobody */
    }
    return 0;
}

static const struct {
    const char *name;
    int (*run)(const struct hm_config *, const char *, const struct arguments *);
} commands[] = {{"begin", begin}, {"end", end}, {"reap", reap}};

int main(int argc, char **argv)
{
    static struct hm_config config;
    struct arguments arguments = {.word = {[CONFIG] = hm_config_path()}};
    struct hm_error error = {0};
    int index = 0;
    size_t command = 0;

    if (argc > 1 && strcmp(argv[1], "lookup") == 0) {
        if (argc != 4)
            return usage("lookup wants two words");
        alarm(HM_HOOKLIMIT_OWN_S); /* whoever asked may have gone */
        return hm_lookup_answer(&(struct hm_question){argv[2], argv[3]});
    }
    while (argc > 1 && command < sizeof(commands) / sizeof(*commands) && strcmp(argv[1], commands[command].name) != 0)
        command++;
    if (argc < 2 || command == sizeof(commands) / sizeof(*commands))
        return usage("the first word is begin, end, reap or lookup");
    bool is_reap = commands[command].run == reap;
    int status = is_reap ? parse_reap(argc - 1, argv + 1, &arguments) : -1;
    if (status >= 0)
        return status;
    optind = is_reap ? argc : 2;
    for (int id; (id = getopt_long(argc, argv, "", options, &index)) != -1;)
        if (id == '?' || take(&arguments, id, options[index].name, optarg) != 0)
            return 2;
    if (arguments.given[HELP]) {
        printf("%s%s  --help           this text\n%s", usage_text, help_text, status_text);
        return hm_output_end("hybridmem-job", 0, 0);
    }
    if (optind < argc)
        return usage("there is a word too many");
    if (geteuid() != 0) {
        fprintf(stderr, "%s: only root may run this\n", is_reap ? "hybridmem reap" : "hybridmem-job");
        return 2;
    }
    if (hm_config_read(arguments.word[CONFIG], false, &config, &error) != 0) {
        hm_config_defaults(&config);
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
