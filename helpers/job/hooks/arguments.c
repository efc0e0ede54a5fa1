/* SPDX-License-Identifier: Apache-2.0 */
#include "arguments.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "base/size.h"
#include "base/words.h"

static const struct option options[] = {
    {"config", required_argument, NULL, HM_ARGUMENT_CONFIG},
    {"request", required_argument, NULL, HM_ARGUMENT_REQUEST},
    {"user", required_argument, NULL, HM_ARGUMENT_USER},
    {"account", required_argument, NULL, HM_ARGUMENT_ACCOUNT},
    {"partition", required_argument, NULL, HM_ARGUMENT_PARTITION},
    {"cluster", required_argument, NULL, HM_ARGUMENT_CLUSTER},
    {"node", required_argument, NULL, HM_ARGUMENT_NODE},
    {"job", required_argument, NULL, HM_ARGUMENT_JOB},
    {"uid", required_argument, NULL, HM_ARGUMENT_UID},
    {"gid", required_argument, NULL, HM_ARGUMENT_GID},
    {"restart", required_argument, NULL, HM_ARGUMENT_RESTART},
    {"het-job", required_argument, NULL, HM_ARGUMENT_HET_JOB},
    {"end-time", required_argument, NULL, HM_ARGUMENT_END_TIME},
    {"exit-status", required_argument, NULL, HM_ARGUMENT_EXIT_STATUS},
    {"help", no_argument, NULL, HM_ARGUMENT_HELP},
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
    struct hm_arguments *arguments = data;
    arguments->given[HM_ARGUMENT_GRACE] = true;
    return hm_size_parse_number(text, 0, INT32_MAX, &arguments->number[HM_ARGUMENT_GRACE], error);
}

/* People call it: it speaks as the other commands of hybridmem. */
int hm_arguments_of_reap(int argc, char **argv, struct hm_arguments *arguments)
{
    const char *config = NULL;
    const struct hm_word table[] = {
        {"config", .path = &config},
        {"cluster", .text = &arguments->word[HM_ARGUMENT_CLUSTER]},
        {"node", .text = &arguments->word[HM_ARGUMENT_NODE]},
        {"boot", .flag = &arguments->given[HM_ARGUMENT_BOOT]},
        {"wait", .flag = &arguments->given[HM_ARGUMENT_WAIT]},
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
        arguments->word[HM_ARGUMENT_CONFIG] = config;
    return -1;
}

int hm_arguments_refuse(const char *why)
{
    fprintf(stderr, "error: %s\n%s", why, usage_text);
    return 2;
}

/*
 * Only wrong values of the arguments that say which job it is are an error. All others come from Slurm's
 * environment, and a wrong one is ignored: it must not fail a prolog or epilog.
 */
static int take(struct hm_arguments *arguments, int id, const char *name, const char *text)
{
    struct hm_error error = {0};
    uint64_t most = id == HM_ARGUMENT_EXIT_STATUS ? INT32_MAX : UINT32_MAX;
    arguments->given[id] = true;
    if (id < HM_ARGUMENT_WORDS)
        arguments->word[id] = text;
    else if (id < HM_ARGUMENT_BOOT && hm_size_parse_number(text, 0, most, &arguments->number[id], &error) != 0) {
        fprintf(stderr, "error: --%s: %s\n", name, error.text);
        arguments->given[id] = false;
        return id == HM_ARGUMENT_JOB || id == HM_ARGUMENT_UID || id == HM_ARGUMENT_GID ? -1 : 0;
    }
    return 0;
}

int hm_arguments_of_hook(int argc, char **argv, struct hm_arguments *arguments)
{
    int index = 0;
    optind = 2;
    for (int id; (id = getopt_long(argc, argv, "", options, &index)) != -1;)
        if (id == '?' || take(arguments, id, options[index].name, optarg) != 0)
            return 2;
    if (arguments->given[HM_ARGUMENT_HELP]) {
        printf("%s%s  --help           this text\n%s", usage_text, help_text, status_text);
        return hm_output_end("hybridmem-job", 0, 0);
    }
    return optind < argc ? hm_arguments_refuse("there is a word too many") : -1;
}
