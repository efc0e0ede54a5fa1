/* SPDX-License-Identifier: Apache-2.0 */
#include "request.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/words.h"
#include "core/config/config.h"

#define COMMAND "namespace"
#define PATIENCE_S 10
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

/* A bit for each command. */
enum {
    CREATE = 1 << HM_NAMESPACE_CREATE,
    DESTROY = 1 << HM_NAMESPACE_DESTROY,
    LIST = 1 << HM_NAMESPACE_LIST,
    REAP = 1 << HM_NAMESPACE_REAP,
    CHECK = 1 << HM_NAMESPACE_CHECK,
    RAM_ONLINE = 1 << HM_NAMESPACE_RAM_ONLINE,
    RAM_OFFLINE = 1 << HM_NAMESPACE_RAM_OFFLINE,
    RAM_LIST = 1 << HM_NAMESPACE_RAM_LIST,
    RAM = RAM_ONLINE | RAM_OFFLINE | RAM_LIST,
    OF_JOBS = CREATE | DESTROY | LIST | REAP
};

/* The commands: one word, or two with a blank between them. */
static const char *const commands[] = {
    [HM_NAMESPACE_CREATE] = "create",
    [HM_NAMESPACE_DESTROY] = "destroy",
    [HM_NAMESPACE_LIST] = "list",
    [HM_NAMESPACE_REAP] = "reap",
    [HM_NAMESPACE_CHECK] = "check",
    [HM_NAMESPACE_RAM_ONLINE] = "ram online",
    [HM_NAMESPACE_RAM_OFFLINE] = "ram offline",
    [HM_NAMESPACE_RAM_LIST] = "ram list",
};

static int take_number(const char *text, uint64_t from, uint64_t most, uint32_t *out, struct hm_error *error)
{
    uint64_t number = 0;
    int result = hm_size_parse_number(text, from, most, &number, error);
    *out = (uint32_t)number;
    return result;
}

static int take_job(struct hm_namespace_request *request, const char *text, struct hm_error *error)
{
    return take_number(text, 1, UINT32_MAX, &request->job_id, error);
}

static int take_restart(struct hm_namespace_request *request, const char *text, struct hm_error *error)
{
    return take_number(text, 0, UINT32_MAX, &request->restart, error);
}

static int take_uid(struct hm_namespace_request *request, const char *text, struct hm_error *error)
{
    return take_number(text, 0, UINT32_MAX - 1, &request->uid, error);
}

static int take_patience(struct hm_namespace_request *request, const char *text, struct hm_error *error)
{
    return take_number(text, 0, 86400, &request->patience_s, error);
}

static int take_limit(struct hm_namespace_request *request, const char *text, struct hm_error *error)
{
    return take_number(text, 1, 86400, &request->limit_s, error);
}

static int take_detach(struct hm_namespace_request *request, const char *text, struct hm_error *error)
{
    request->detaches = true;
    return take_number(text, 0, 86400, &request->detach_s, error);
}

static int take_size(struct hm_namespace_request *request, const char *text, struct hm_error *error)
{
    return hm_size_parse(text, &request->bytes, error);
}

static int take_sockets(struct hm_namespace_request *request, const char *text, struct hm_error *error)
{
    static const char *const words[] = {
        [HM_SOCKET_ALL] = "all", [HM_SOCKET_LOCAL] = "local", [HM_SOCKET_REMOTE] = "remote"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && request->command == HM_NAMESPACE_CREATE; i++)
        if (strcmp(text, words[i]) == 0) {
            request->which = (enum hm_socket)i;
            return 0;
        }
    if (hm_set_parse(&request->sockets, text, error) != 0)
        return -1;
    return hm_set_is_empty(&request->sockets) ? hm_fail(error, EINVAL, "\"\" names no socket: as in \"0,1\"") : 0;
}

static int take_fs(struct hm_namespace_request *request, const char *text, struct hm_error *error)
{
    request->filesystem = hm_mkfs_find(text);
    return request->filesystem ? 0 : hm_fail(error, EINVAL, "\"%.40s\" is no file system for DAX: ext4 or xfs", text);
}

static int take_map(struct hm_namespace_request *request, const char *text, struct hm_error *error)
{
    request->map_in_pmem = strcmp(text, "pmem") == 0;
    if (request->map_in_pmem || strcmp(text, "dram") == 0)
        return 0;
    return hm_fail(error, EINVAL, "\"%.40s\" is not a place for the map of pages: use dram or pmem", text);
}

static int take_zone(struct hm_namespace_request *request, const char *text, struct hm_error *error)
{
    request->zone = strcmp(text, "normal") == 0 ? HM_ZONE_NORMAL : HM_ZONE_MOVABLE;
    if (strcmp(text, hm_zone_name(request->zone)) == 0)
        return 0;
    return hm_fail(error, EINVAL, "\"%.40s\" is not a zone of memory: use movable or normal", text);
}

static int take_cluster(struct hm_namespace_request *request, const char *text, struct hm_error *error)
{
    (void)error;
    request->cluster = text;
    return 0;
}

static int take_living(struct hm_namespace_request *request, const char *text, struct hm_error *error)
{
    (void)error;
    request->living = text;
    return 0;
}

static int take_config(struct hm_namespace_request *request, const char *text, struct hm_error *error)
{
    (void)error;
    request->config = text;
    return 0;
}

static const struct {
    const char *name, *value, *about;
    int (*take)(struct hm_namespace_request *request, const char *text, struct hm_error *error);
    unsigned wanted_by, taken_by; /* commands */
} rows[] = {
    {"job", "ID", "whose namespaces", take_job, CREATE, DESTROY},
    {"restart", "N", "how often Slurm has restarted the job", take_restart, CREATE, DESTROY},
    {"uid", "UID", "who owns the root folder of the file systems; destroy: the user whose kept ones are removed",
     take_uid, CREATE, DESTROY},
    {"size", "SIZE", "bytes on all sockets together: digits and K, M, G or T", take_size, CREATE, 0},
    {"sockets", "LIST",
     "on which to take space, evenly: \"0,1\", local, remote or all; ram: whose devices (default: all)", take_sockets,
     CREATE, RAM},
    {"fs", "NAME", "ext4 or xfs (default: ext4)", take_fs, 0, CREATE},
    {"map", "dram|pmem", "where the map of pages is, 1.6% of the size (default: dram)", take_map, 0, CREATE},
    {"cluster", "NAME", "Slurm's cluster (default: for create that of hybridmem.conf, else any)", take_cluster, 0,
     OF_JOBS},
    {"zone", "movable|normal", "of the kernel, for memory that comes online (default: movable)", take_zone, 0,
     RAM_ONLINE},
    {"patience", "SECONDS", "how long to wait for what is in use (default: 10)", take_patience, 0,
     CREATE | DESTROY | REAP | RAM_ONLINE | RAM_OFFLINE},
    {"limit", "SECONDS", "how long wipes may take; status 4 where they want more (default: as long as they take)",
     take_limit, 0, CREATE | DESTROY | REAP},
    {"detach", "SECONDS", "after this time, mounts in the job's own mount namespaces are detached (default: never)",
     take_detach, 0, DESTROY},
    {"living", "LIST|FILE",
     "JOB.RESTART of the jobs that live, uUID of users whose kept ones they use, * for any; or a /FILE", take_living,
     REAP, 0},
    {"config", "FILE", "instead of the installed hybridmem.conf", take_config, 0, OF_JOBS | CHECK | RAM},
};

static void print_help(void)
{
    fputs("Usage: hybridmem namespace create --job ID --restart N --uid UID --size SIZE\n"
          "                                  --sockets LIST [--keep] [OPTION]...\n"
          "       hybridmem namespace destroy --job ID --restart N|--uid UID [OPTION]...\n"
          "       hybridmem namespace reap --living LIST|FILE [OPTION]...\n"
          "       hybridmem namespace list [--json] [OPTION]...\n"
          "       hybridmem namespace check [--config FILE]\n"
          "       hybridmem namespace ram online [--zone movable|normal] [--sockets LIST]\n"
          "                                  [OPTION]...\n"
          "       hybridmem namespace ram offline [--sockets LIST] [OPTION]...\n"
          "       hybridmem namespace ram list [--json] [--sockets LIST] [OPTION]...\n"
          "\n"
          "Makes the private DAX file systems of jobs on this node's persistent memory, and\n"
          "wipes and removes them. Slurm's prolog and epilog do it for --hybrid-mem=fsdax.\n"
          "Only root; what hybridmem did not make stays. ram makes devdax namespaces into\n"
          "memory of the kernel, and devices again.\n"
          "\n",
          stdout);
    for (size_t i = 0; i < N_ROWS; i++)
        hm_words_put_row(stdout, HM_WORDS_COLUMNS, 26, rows[i].about, "  --%s %s", rows[i].name, rows[i].value);
    fputs("  --keep                  create: keep them for the user's next jobs, or use\n"
          "                          what the user has kept\n"
          "  --json                  list, ram list: as JSON\n"
          "  -h, --help              this text\n"
          "  -V, --version           the version\n"
          "\n"
          "Exit status: 0 done, 1 refused or failed, 2 wrong usage, 3 something is in use,\n"
          "4 --limit has passed, 5 failed, and a namespace is left that could not be\n"
          "removed.\n",
          stdout);
}

static int say(const char *text)
{
    fprintf(stderr, "hybridmem " COMMAND ": %s\n", text);
    return HM_WORDS_BAD;
}

static bool has(const char *const *given, const char *name)
{
    for (size_t i = 0; i < N_ROWS; i++)
        if (strcmp(rows[i].name, name) == 0)
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
        return hm_fail(error, EINVAL, "destroy takes --detach with --job only: a job that lives may have what is kept");
    if (is_job && !(has(given, "job") && has(given, "restart")))
        return hm_fail(error, EINVAL, "destroy needs %s", has(given, "job") ? "--restart N" : "--job ID");
    return 0;
}

/* Check the words that were given against the command. Returns 0 or -1. */
static int convert(struct hm_namespace_request *request, const char *const *given, struct hm_error *error)
{
    struct hm_error inner = {{0}};
    unsigned bit = 1u << request->command;
    for (size_t i = 0; i < N_ROWS; i++) {
        if (!given[i] && (rows[i].wanted_by & bit))
            return hm_fail(error, EINVAL, "%s needs --%s %s", commands[request->command], rows[i].name, rows[i].value);
        if (!given[i])
            continue;
        if (!((rows[i].wanted_by | rows[i].taken_by) & bit))
            return hm_fail(error, EINVAL, "%s takes no --%s", commands[request->command], rows[i].name);
        if (rows[i].take(request, given[i], &inner) != 0)
            return hm_fail(error, EINVAL, "--%s: %s", rows[i].name, inner.text);
    }
    if (request->json && !(bit & (LIST | RAM_LIST)))
        return hm_fail(error, EINVAL, "%s takes no --json", commands[request->command]);
    if (request->keep && !(bit & CREATE))
        return hm_fail(error, EINVAL, "%s takes no --keep", commands[request->command]);
    return bit & DESTROY ? check_whose(given, error) : 0;
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
    const char *given[N_ROWS] = {NULL};
    struct hm_word word[N_ROWS + 2] = {{.name = "json", .flag = &request->json},
                                       {.name = "keep", .flag = &request->keep}};
    struct hm_words words = {.command = COMMAND, .print_help = print_help, .word = word, .n = N_ROWS + 2};
    struct hm_error error = {{0}};
    *request = (struct hm_namespace_request){
        .config = hm_config_path(), .filesystem = hm_mkfs_at(0), .zone = HM_ZONE_MOVABLE, .patience_s = PATIENCE_S};
    for (size_t i = 0; i < N_ROWS; i++)
        word[i + 2] = (struct hm_word){.name = rows[i].name, .text = &given[i]};
    int status = hm_words_parse(argc, argv, &words);
    if (status >= 0)
        return status;
    if (optind == argc)
        return say("the first word is create, destroy, list, reap, check or ram");
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
