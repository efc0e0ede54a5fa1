/* SPDX-License-Identifier: Apache-2.0 */
#include "guided.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "base/installed.h"
#include "base/size.h"
#include "base/spawn.h"

#define PROGRAM HM_LIBEXECDIR "/hybridmem-sites"
#define SAYS "hybridmem sites guide: "
#define PATIENCE_MS 60000 /* a profile may have 64 MiB */
#define NODES 1024
#define VARIABLE (128 * 1024) /* Linux has no longer one */

/* ---------------------------------------------------------- what the program prints */

static int take_number(const char *value, uint64_t *number)
{
    return hm_size_parse_number(value, 0, UINT64_MAX, number, NULL);
}

static int take_share(const char *value, double *share)
{
    char *end;
    *share = strtod(value, &end);
    return end > value && !*end && *share >= 0 && *share <= 1 ? 0 : -1;
}

/* Notes the first sites of the text's list; how many there are is a line of its own. */
static void note_sites(struct hm_guided *guided, const char *text)
{
    const char *at = strstr(text, "sites=");
    guided->n_sites = 0;
    for (at = at ? at + strlen("sites=") : ""; *at; guided->n_sites++) {
        char *end;
        uint64_t id = strtoull(at, &end, 16);
        if (guided->n_sites < HM_GUIDED_SITES)
            guided->site[guided->n_sites] = id;
        at = *end == ',' ? end + 1 : "";
    }
}

static int take_line(const char *key, const char *value, struct hm_guided *guided, char text[HM_GUIDED_TEXT])
{
    if (strcmp(key, "fast_bytes") == 0)
        return take_number(value, &guided->fast_bytes);
    if (strcmp(key, "expected_share") == 0)
        return take_share(value, &guided->expected_share);
    if (strcmp(key, "packer") != 0 && strcmp(key, HM_ISOLATE_GUIDE) != 0)
        return 0; /* of a later version */
    bool is_packer = key[0] == 'p';
    size_t size = is_packer ? sizeof(guided->packer) : HM_GUIDED_TEXT, length = strlen(value);
    if (length == 0 || length >= size)
        return -1;
    memcpy(is_packer ? guided->packer : text, value, length + 1);
    return 0;
}

int hm_guided_parse(char *printed, struct hm_guided *guided, char text[HM_GUIDED_TEXT])
{
    text[0] = '\0';
    for (char *line = printed, *next; *line; line = next) {
        size_t length = strcspn(line, "\n");
        next = line + length + (line[length] == '\n');
        line[length] = '\0';
        char *value = strchr(line, ' ');
        if (!value)
            return -1;
        *value++ = '\0';
        if (take_line(line, value, guided, text) < 0)
            return -1;
    }
    note_sites(guided, text);
    guided->is_known = true;
    return 0;
}

/* ---------------------------------------------------------- run it */

/* Makes a path absolute: the program that gets it is in another folder. Returns 0, or -1 with a text. */
static int make_absolute(const char *path, char out[PATH_MAX], struct hm_error *error)
{
    char folder[PATH_MAX] = "";
    if (path[0] != '/' && !getcwd(folder, sizeof(folder)))
        return hm_fail_errno(error, "the task's working directory is not known");
    if (snprintf(out, PATH_MAX, "%s%s%s", folder, path[0] == '/' ? "" : "/", path) >= PATH_MAX)
        return hm_fail(error, ENAMETOOLONG, "the path of \"%.60s\" is too long", path);
    return 0;
}

/* Runs the program. Returns 0 with what it has printed and said, or -1 with a text. */
static int run(char *const *words, char *const *environment, char *printed, size_t size, char said[HM_ERROR_TEXT],
               struct hm_error *error)
{
    int output = memfd_create("output", MFD_CLOEXEC), errors = memfd_create("errors", MFD_CLOEXEC), status = -1;
    const struct hm_spawn spawn = {.path = PROGRAM,
                                   .arguments = words,
                                   .environment = environment,
                                   .extra = -1,
                                   .output = output,
                                   .errors = errors,
                                   .dies_with_parent = true};
    said[0] = printed[0] = '\0';
    pid_t pid = output < 0 || errors < 0 ? hm_fail_errno(error, "no file in memory for the output of %s", PROGRAM)
                                         : hm_spawn_start(&spawn, error);
    if (pid >= 0) {
        status = hm_spawn_wait_for(pid, PATIENCE_MS);
        (void)hm_file_read_open(output, printed, size);
        (void)hm_file_read_open(errors, said, HM_ERROR_TEXT);
        said[strcspn(said, "\n")] = '\0';
        size_t start = strncmp(said, SAYS, strlen(SAYS)) == 0 ? strlen(SAYS) : 0;
        memmove(said, said + start, strlen(said + start) + 1);
    }
    if (output >= 0)
        close(output);
    if (errors >= 0)
        close(errors);
    if (pid < 0 || status == 0)
        return pid < 0 ? -1 : 0;
    return hm_fail(error, EIO, "%s", said[0] ? said : "the program that reads the profile did not end as it should");
}

/* Where the task's program is looked for: in its PATH, then, as Slurm does, in its working directory. */
static void read_path(const struct hm_environment *environment, char out[VARIABLE + PATH_MAX])
{
    const size_t start = strlen("PATH=");
    char folder[PATH_MAX];
    memcpy(out, "PATH=", start + 1);
    if (environment->get(environment->data, "PATH", out + start, VARIABLE - start) != 0)
        out[start] = '\0';
    size_t used = strlen(out);
    if (getcwd(folder, sizeof(folder)))
        snprintf(out + used, VARIABLE + PATH_MAX - used, "%s%s", out[start] ? ":" : "", folder);
}

static int choose(const struct hm_environment *environment, const struct hm_plan *plan,
                  const struct hm_topology *topology, uint32_t n_tasks, struct hm_guided *guided,
                  char text[HM_GUIDED_TEXT], struct hm_error *error)
{
    static char printed[HM_GUIDED_TEXT + 1024], path[VARIABLE + PATH_MAX];
    char nodes[NODES], bytes[24], profile[PATH_MAX], program[PATH_MAX], said[HM_ERROR_TEXT], locale[] = "LC_ALL=C";
    const struct hm_guide_keys *keys = &plan->request.guide;
    const char *name = environment->program;
    const char *words[16] = {"hybridmem-sites", "guide", "--print", "--fast", bytes, "--nodes", nodes};
    int n = 7;
    if (!name)
        return hm_fail(error, ENOENT, "the task's program is not known");
    if (hm_isolate_nodes(plan, topology, nodes, sizeof(nodes)) != 0)
        return hm_fail(error, ENAMETOOLONG, "the tiers have more nodes than can be named");
    if (make_absolute(keys->profile, profile, error) < 0 ||
        (strchr(name, '/') && make_absolute(name, program, error) < 0))
        return -1;
    snprintf(bytes, sizeof(bytes), "%" PRIu64, plan->guide.fast_bytes / (n_tasks > 0 ? n_tasks : 1));
    read_path(environment, path);
    hm_text_copy(guided->profile, profile, sizeof(guided->profile));
    if (keys->packer[0]) {
        words[n++] = "--packer";
        words[n++] = keys->packer;
    }
    words[n++] = profile;
    words[n++] = "--";
    words[n++] = strchr(name, '/') ? program : name;
    char *variables[] = {locale, path, NULL};
    /* the cast drops const: execve does not write to the words */
    if (run((char *const *)(uintptr_t)words, variables, printed, sizeof(printed), said, error) < 0)
        return -1;
    if (hm_guided_parse(printed, guided, text) < 0)
        return hm_fail(error, EBADMSG, "%s has printed what this version does not know", PROGRAM);
    if (!text[0])
        hm_text_copy(guided->why, said[0] ? said : "its program cannot be guided", sizeof(guided->why));
    return 0;
}

int hm_guided_choose(const struct hm_environment *environment, const struct hm_plan *plan,
                     const struct hm_topology *topology, uint32_t n_tasks, struct hm_guided *guided,
                     char text[HM_GUIDED_TEXT], struct hm_error *error)
{
    struct hm_error why = {""};
    memset(guided, 0, sizeof(*guided));
    text[0] = '\0';
    if (access(hm_guide_library(), R_OK) != 0)
        hm_fail_errno(&why, "%s", hm_guide_library());
    else if (choose(environment, plan, topology, n_tasks, guided, text, &why) == 0)
        return 0;
    return hm_fail(error, errno, "--hybrid-mem=%.60s: %s", plan->request.text, why.text);
}
