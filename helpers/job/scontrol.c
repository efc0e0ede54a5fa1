/* SPDX-License-Identifier: Apache-2.0 */
#include "scontrol.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "spawn.h"

#define PATIENCE_MS 20000 /* for a controller that does not answer */

int hm_scontrol_find(char *path, size_t size)
{
    static const char *const folders[] = {"/usr/bin", "/usr/local/bin", "/opt/slurm/bin"};
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        snprintf(path, size, "%s/scontrol", folders[i]);
        if (access(path, X_OK) == 0)
            return 0;
    }
    errno = ENOENT;
    return -1;
}

/* Run it with these words (NULL-terminated, its name first), its output into `output` (0: /dev/null). */
static int run(char *const *words, int output, struct hm_error *error)
{
    char path[64], locale[] = "LC_ALL=C";
    char *environment[] = {locale, NULL};
    struct hm_spawn spawn = {
        .path = path, .arguments = words, .environment = environment, .extra = -1, .output = output, .errors = -1};
    if (hm_scontrol_find(path, sizeof(path)) != 0)
        return hm_fail(error, ENOENT, "scontrol is not in its usual folders");
    pid_t pid = hm_spawn_start(&spawn, error);
    if (pid < 0)
        return -1;
    int status = hm_spawn_wait_for(pid, PATIENCE_MS);
    return status == 0 ? 0 : hm_fail(error, EIO, "scontrol ended with status %d", status);
}

int hm_scontrol_drain(const char *node, const char *reason, struct hm_error *error)
{
    char name[96], why[HM_ERROR_TEXT + 16];
    char command[] = "scontrol", update[] = "update", state[] = "state=drain";
    char *words[] = {command, update, name, state, why, NULL};
    snprintf(name, sizeof(name), "nodename=%s", node);
    snprintf(why, sizeof(why), "reason=%s", reason);
    return run(words, 0, error);
}

int hm_scontrol_parse_cpus(const char *text, const char *node, struct hm_set *cpus, struct hm_error *error)
{
    char nodes[64], list[256];
    int n = 0;
    bool is_alone = false;
    for (const char *at = text; !is_alone && (at = strstr(at, " Nodes=")); at++) {
        if (sscanf(at, " Nodes=%63s CPU_IDs=%255s", nodes, list) != 2)
            continue;
        n++;
        is_alone = strcmp(nodes, node) == 0;
        if (hm_set_parse(cpus, list, error) != 0)
            return -1;
    }
    return is_alone || n == 1 ? 0 : hm_fail(error, EINVAL, "scontrol names no CPUs of node %s alone", node);
}

int hm_scontrol_cpus(uint32_t job_id, const char *node, struct hm_set *cpus, struct hm_error *error)
{
    static char text[65536];
    char id[16], command[] = "scontrol", show[] = "show", job[] = "job", detail[] = "-d", line[] = "-o";
    char *words[] = {command, detail, line, show, job, id, NULL};
    int output = memfd_create("output", MFD_CLOEXEC);
    if (output < 0)
        return hm_fail_errno(error, "no file in memory for the output of scontrol");
    snprintf(id, sizeof(id), "%u", job_id);
    int result = run(words, output, error);
    ssize_t length = result == 0 ? pread(output, text, sizeof(text) - 1, 0) : 0;
    text[length > 0 ? length : 0] = '\0';
    close(output);
    return result == 0 ? hm_scontrol_parse_cpus(text, node, cpus, error) : -1;
}
