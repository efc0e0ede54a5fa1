/* SPDX-License-Identifier: Apache-2.0 */
#include "sitesprogram.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "base/hear.h"
#include "base/size.h"
#include "base/words.h"

#define SAYS "hybridmem "
#define PATIENCE_MS 60000     /* a profile may have 64 MiB */
#define NAME 32               /* bytes of a program's name */
#define VARIABLE (128 * 1024) /* Linux has no longer one */

int hm_sitesprogram_absolute(const char *path, char out[PATH_MAX], struct hm_error *error)
{
    char folder[PATH_MAX] = "";
    if (path[0] != '/' && !getcwd(folder, sizeof(folder)))
        return hm_fail_errno(error, "the task's working directory is not known");
    if (snprintf(out, PATH_MAX, "%s%s%s", folder, path[0] == '/' ? "" : "/", path) >= PATH_MAX)
        return hm_fail(error, ENAMETOOLONG, "the path of \"%.60s\" is too long", path);
    return 0;
}

/* Cuts off the name of the command that has said it. */
static void strip(char said[HM_ERROR_TEXT])
{
    said[strcspn(said, "\n")] = '\0';
    const char *end = strncmp(said, SAYS, strlen(SAYS)) == 0 ? strstr(said, ": ") : NULL;
    if (end)
        memmove(said, end + 2, strlen(end + 2) + 1);
}

/* Returns 0 with what the program has printed and said, or -1 with a text. */
static int run(char *const *words, int extra, char *const *environment, char *printed, size_t size,
               char said[HM_ERROR_TEXT], struct hm_error *error)
{
    char path[sizeof(HM_LIBEXECDIR) + NAME];
    snprintf(path, sizeof(path), HM_LIBEXECDIR "/%s", words[0]);
    const struct hm_spawn spawn = {
        .path = path, .arguments = words, .environment = environment, .extra = extra, .dies_with_parent = true};
    int status;
    if (hm_spawn_hear(&spawn, PATIENCE_MS, (struct hm_heard){printed, size}, (struct hm_heard){said, HM_ERROR_TEXT},
                      &status, error) < 0)
        return -1;
    strip(said);
    if (status == 0)
        return 0;
    bool is_wrong = WIFEXITED(status) && WEXITSTATUS(status) == HM_WORDS_BAD;
    return hm_fail(error, is_wrong ? EINVAL : EIO, "%s", said[0] ? said : "its program did not end as it should");
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

/* A variable of the task for the program's environment. */
static char *copy_variable(const struct hm_environment *environment, const char *name, char out[PATH_MAX + 16])
{
    int length = snprintf(out, PATH_MAX + 16, "%s=", name);
    if (environment->get(environment->data, name, out + length, PATH_MAX) != 0)
        out[length] = '\0';
    return out;
}

int hm_sitesprogram_run(const struct hm_environment *environment, const char *const *words, int extra, char *printed,
                        size_t size, char said[HM_ERROR_TEXT], struct hm_error *error)
{
    static char path[VARIABLE + PATH_MAX], home[PATH_MAX + 16], data[PATH_MAX + 16];
    char locale[] = "LC_ALL=C";
    read_path(environment, path);
    char *variables[] = {locale, path, copy_variable(environment, "HOME", home),
                         copy_variable(environment, "XDG_DATA_HOME", data), NULL};
    /* the cast drops const: execve does not write to the words */
    return run((char *const *)(uintptr_t)words, extra, variables, printed, size, said, error);
}

int hm_sitesprogram_name(const struct hm_environment *environment, char program[PATH_MAX], struct hm_error *error)
{
    const char *name = environment->words ? environment->words[0] : NULL;
    if (!name)
        return hm_fail(error, ENOENT, "the task's program is not known");
    if (strchr(name, '/'))
        return hm_sitesprogram_absolute(name, program, error);
    hm_text_copy(program, name, PATH_MAX);
    return 0;
}

int hm_sitesprogram_take_pid(const char *value, uint32_t *pid)
{
    uint64_t number;
    if (hm_size_parse_number(value, 1, INT32_MAX, &number, NULL) < 0)
        return -1;
    *pid = (uint32_t)number;
    return 0;
}

int hm_sitesprogram_parse(char *printed, hm_sitesprogram_take *take, void *data)
{
    for (char *line = printed, *next; *line; line = next) {
        size_t length = strcspn(line, "\n");
        next = line + length + (line[length] == '\n');
        line[length] = '\0';
        char *value = strchr(line, ' ');
        if (!value)
            return -1;
        *value++ = '\0';
        if (take(data, line, value) < 0)
            return -1;
    }
    return 0;
}
