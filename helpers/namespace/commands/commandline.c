/* SPDX-License-Identifier: Apache-2.0 */
#include "commandline.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/words.h"
#include "core/config/config.h"
#include "options.h"

#define COMMAND "namespace"
#define PATIENCE_S 10
#define FLAGS 3 /* options without a value */

/* The commands: one word, or two with a blank between them. */
static const char *const commands[] = {
    [HM_NAMESPACE_CREATE] = "create",
    [HM_NAMESPACE_DESTROY] = "destroy",
    [HM_NAMESPACE_LIST] = "list",
    [HM_NAMESPACE_REAP] = "reap",
    [HM_NAMESPACE_CHECK] = "check",
    [HM_NAMESPACE_PROVISION] = "provision",
    [HM_NAMESPACE_RAM_ONLINE] = "ram online",
    [HM_NAMESPACE_RAM_OFFLINE] = "ram offline",
    [HM_NAMESPACE_RAM_LIST] = "ram list",
};

static void print_help(void)
{
    fputs("Usage: hybridmem namespace create --job ID --restart N --uid UID --size SIZE\n"
          "                                  --sockets LIST [--keep] [OPTION]...\n"
          "       hybridmem namespace destroy --job ID --restart N [OPTION]...\n"
          "       hybridmem namespace destroy --uid UID [OPTION]...\n"
          "       hybridmem namespace reap --living LIST|FILE [OPTION]...\n"
          "       hybridmem namespace list [--json] [OPTION]...\n"
          "       hybridmem namespace check [--config FILE]\n"
          "       hybridmem namespace provision [--sockets LIST] [--ram SIZE] [--apply]\n"
          "       hybridmem namespace ram online [--zone movable|normal] [--sockets LIST]\n"
          "                                  [OPTION]...\n"
          "       hybridmem namespace ram offline [--sockets LIST] [OPTION]...\n"
          "       hybridmem namespace ram list [--json] [--sockets LIST] [OPTION]...\n"
          "\n"
          "Makes the private DAX file systems of jobs on this node's persistent memory, and\n"
          "wipes and removes them. Slurm's prolog and epilog do it for --hybrid-mem=fsdax.\n"
          "Only root can run it; what hybridmem did not make stays. ram makes devdax\n"
          "namespaces into memory of the kernel, and that memory into devices again.\n"
          "provision prepares new persistent memory for all this.\n"
          "\n",
          stdout);
    for (size_t i = 0; i < HM_NAMESPACE_OPTIONS; i++)
        hm_words_put_row(stdout, HM_WORDS_COLUMNS, 26, hm_namespace_option[i].about, "  --%s %s",
                         hm_namespace_option[i].name, hm_namespace_option[i].value);
    fputs("  --apply                 provision: do it, not only say what is to be done\n"
          "  --keep                  create: keep them for the user's next jobs, or use\n"
          "                          what the user has kept\n"
          "  --json                  list, ram list: as JSON\n"
          "  -h, --help              this text\n"
          "  -V, --version           the version\n"
          "\n"
          "Exit status: 0 done, 1 refused or failed, 2 wrong usage, 3 something is in use,\n"
          "4 --limit has passed or memory is short, 5 failed, and a namespace is left that\n"
          "could not be removed.\n",
          stdout);
}

static int say(const char *text)
{
    fprintf(stderr, "hybridmem " COMMAND ": %s\n", text);
    return HM_WORDS_BAD;
}

static bool has(const char *const *given, const char *name)
{
    for (size_t i = 0; i < HM_NAMESPACE_OPTIONS; i++)
        if (strcmp(hm_namespace_option[i].name, name) == 0)
            return given[i] != NULL;
    return false;
}

/* Check that destroy names either a job or a user. */
static int check_whose(const char *const *given, struct hm_error *error)
{
    bool is_job = has(given, "job") || has(given, "restart");
    if (is_job && has(given, "uid"))
        return hm_fail(error, EINVAL, "destroy takes --job and --restart, or --uid: not both");
    if (!is_job && !has(given, "uid"))
        return hm_fail(error, EINVAL, "destroy needs --job ID and --restart N, or --uid UID");
    if (!is_job && has(given, "detach"))
        return hm_fail(error, EINVAL, "destroy takes --detach with --job only: a living job may use what is kept");
    if (is_job && !(has(given, "job") && has(given, "restart")))
        return hm_fail(error, EINVAL, "destroy needs %s", has(given, "job") ? "--restart N" : "--job ID");
    return 0;
}

/* Check the options that were given against the command, and put their values into `request`. Returns 0 or -1. */
static int convert(struct hm_namespace_request *request, const char *const *given, struct hm_error *error)
{
    struct hm_error inner = {{0}};
    unsigned bit = 1u << request->command;
    for (size_t i = 0; i < HM_NAMESPACE_OPTIONS; i++) {
        const struct hm_namespace_option *option = &hm_namespace_option[i];
        if (!given[i] && (option->wanted_by & bit))
            return hm_fail(error, EINVAL, "%s needs --%s %s", commands[request->command], option->name, option->value);
        if (!given[i])
            continue;
        if (!((option->wanted_by | option->taken_by) & bit))
            return hm_fail(error, EINVAL, "%s takes no --%s", commands[request->command], option->name);
        if (option->take(request, given[i], &inner) != 0)
            return hm_fail(error, EINVAL, "--%s: %s", option->name, inner.text);
    }
    if (request->json && request->command != HM_NAMESPACE_LIST && request->command != HM_NAMESPACE_RAM_LIST)
        return hm_fail(error, EINVAL, "%s takes no --json", commands[request->command]);
    if (request->keep && request->command != HM_NAMESPACE_CREATE)
        return hm_fail(error, EINVAL, "%s takes no --keep", commands[request->command]);
    if (request->apply && request->command != HM_NAMESPACE_PROVISION)
        return hm_fail(error, EINVAL, "%s takes no --apply", commands[request->command]);
    return request->command == HM_NAMESPACE_DESTROY ? check_whose(given, error) : 0;
}

/* The number of words that make up the command; 0 where the words are another command. */
static int match(const char *command, char *const *word, int n)
{
    int taken = 0;
    while (taken < n) {
        size_t length = strcspn(command, " ");
        if (strlen(word[taken]) != length || strncmp(word[taken], command, length) != 0)
            return 0;
        taken++;
        if (command[length] == '\0')
            return taken;
        command += length + 1;
    }
    return 0;
}

int hm_namespace_request_parse(int argc, char **argv, struct hm_namespace_request *request)
{
    const char *given[HM_NAMESPACE_OPTIONS] = {NULL};
    struct hm_word word[FLAGS + HM_NAMESPACE_OPTIONS] = {{.name = "json", .flag = &request->json},
                                                         {.name = "keep", .flag = &request->keep},
                                                         {.name = "apply", .flag = &request->apply}};
    struct hm_words words = {
        .command = COMMAND, .print_help = print_help, .word = word, .n = FLAGS + HM_NAMESPACE_OPTIONS};
    struct hm_error error = {{0}};
    *request = (struct hm_namespace_request){
        .config = hm_config_path(), .filesystem = hm_mkfs_at(0), .zone = HM_ZONE_MOVABLE, .patience_s = PATIENCE_S};
    for (size_t i = 0; i < HM_NAMESPACE_OPTIONS; i++)
        word[FLAGS + i] = (struct hm_word){.name = hm_namespace_option[i].name, .text = &given[i]};
    int status = hm_words_parse(argc, argv, &words);
    if (status >= 0)
        return status;
    if (optind == argc)
        return say("the first word is create, destroy, list, reap, check, provision or ram");
    int taken = 0, is_ram = strcmp(argv[optind], "ram") == 0;
    request->command = 0;
    while (request->command < HM_NAMESPACE_COMMANDS &&
           (taken = match(commands[request->command], argv + optind, argc - optind)) == 0)
        request->command++;
    if (taken == 0 && is_ram && optind + 1 == argc)
        return say("the word after ram is online, offline or list");
    if (taken == 0)
        taken = is_ram;
    if (taken == 0 || request->command == HM_NAMESPACE_COMMANDS || optind + taken < argc)
        return hm_words_refuse(&words, argv[optind + taken]);
    return convert(request, given, &error) == 0 ? -1 : say(error.text);
}
