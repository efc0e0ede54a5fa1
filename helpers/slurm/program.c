/* SPDX-License-Identifier: Apache-2.0 */
#include <config.h>

#include "program.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/files.h"
#include "base/spawn.h"

int hm_slurmprogram_find(const char *name, char *path, size_t size)
{
    static const char *const folders[] = {HM_SLURM_BINDIR, "/usr/bin", "/usr/local/bin", "/opt/slurm/bin"};
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        snprintf(path, size, "%s/%s", folders[i], name);
        if (access(path, X_OK) == 0)
            return 0;
    }
    errno = ENOENT;
    return -1;
}

/* Write the arguments, as in " show config". Returns `out`. */
static const char *join(char *const *words, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 1; words[i] && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, " %s", words[i]);
    return out;
}

int hm_slurmprogram_run(const char *path, char *const *words, int patience_ms, char *text, size_t size,
                        struct hm_error *error)
{
    char locale[] = "LC_ALL=C", conf[PATH_MAX + 16], told[120];
    char *environment[] = {locale, NULL, NULL};
    text[0] = '\0';
    const char *slurm_conf = getenv("SLURM_CONF");
    if (slurm_conf && snprintf(conf, sizeof(conf), "SLURM_CONF=%s", slurm_conf) < (int)sizeof(conf))
        environment[1] = conf;
    int output = memfd_create("output", MFD_CLOEXEC);
    if (output < 0)
        return hm_fail_errno(error, "no file in memory for the output of a Slurm program");
    const struct hm_spawn spawn = {
        .path = path, .arguments = words, .environment = environment, .extra = -1, .output = output, .errors = output};
    pid_t pid = hm_spawn_start(&spawn, error);
    int status = pid < 0 ? -1 : hm_spawn_wait_for(pid, patience_ms);
    (void)hm_file_read_open(output, text, size);
    close(output);
    if (status == 0 || pid < 0)
        return status;
    text[strcspn(text, "\n")] = '\0';
    if (status < 0)
        return hm_fail_errno(error, "%s%s did not end", path, join(words, told, sizeof(told)));
    return hm_fail(error, EIO, "%s%s failed%s%.120s", path, join(words, told, sizeof(told)), text[0] ? ": " : "", text);
}

int hm_slurmprogram_ask(char *const *words, int patience_ms, char *text, size_t size, struct hm_error *error)
{
    char path[PATH_MAX];
    text[0] = '\0';
    if (hm_slurmprogram_find(words[0], path, sizeof(path)) != 0)
        return hm_fail(error, ENOENT, "%s is not in its usual folders", words[0]);
    return hm_slurmprogram_run(path, words, patience_ms, text, size, error);
}
