/* SPDX-License-Identifier: Apache-2.0 */
/* What hybridmem wants of Slurm, by what `scontrol show config` says. */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/topology/regions.h"
#include "parts.h"
#include "slurm/scontrol.h"

#define MOST_OUTPUT 65536
#define MOST_SECONDS 20 /* for a controller that does not answer */

/* One of Slurm's settings: every word of `wanted` (separated by commas) must be in its value. */
static const struct {
    const char *name;
    const char *wanted;
} settings[] = {
    {"ProctrackType", "proctrack/cgroup"},
    {"TaskPlugin", "task/affinity,task/cgroup"},
    {"PrologFlags", "Contain"},
};

/* Of prologs and epilogs, in seconds; later versions have one for each. */
static const char *const timeouts[] = {"PrologEpilogTimeout", "PrologTimeout", "EpilogTimeout"};
#define MARGIN_S 60      /* for all else that a prolog or epilog does */
#define NO_TIMEOUT 65533 /* and above: numbers that Slurm has for none */

static bool find_scontrol(const char *given, char *path, size_t size)
{
    if (given) {
        snprintf(path, size, "%s", given);
        return access(path, X_OK) == 0;
    }
    if (hm_scontrol_find(path, size) == 0)
        return true;
    /* Not for root: PATH may be somebody else's. */
    const char *folders = geteuid() == 0 ? NULL : getenv("PATH");
    while (folders && *folders) {
        size_t length = strcspn(folders, ":");
        snprintf(path, size, "%.*s/scontrol", (int)length, folders);
        if (length > 0 && access(path, X_OK) == 0)
            return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}

/* Run `path show config` into `output`. Returns 0, or -1 with the reason in `why`. */
static int run_scontrol(const char *path, char *output, size_t size, struct hm_error *why)
{
    int ends[2], status = 0;
    size_t used = 0;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return hm_fail_errno(why, "pipe");
    pid_t child = fork();
    if (child < 0) {
        close(ends[0]);
        close(ends[1]);
        return hm_fail_errno(why, "fork");
    }
    if (child == 0) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (null < 0 || dup2(null, 0) < 0 || dup2(ends[1], 1) < 0 || dup2(ends[1], 2) < 0)
            _exit(127);
        alarm(MOST_SECONDS); /* kept over exec */
        execl(path, "scontrol", "show", "config", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    for (ssize_t got; used < size - 1; used += (size_t)got) {
        got = read(ends[0], output + used, size - 1 - used);
        if (got < 0 && errno == EINTR)
            got = 0;
        else if (got <= 0)
            break;
    }
    output[used] = '\0';
    close(ends[0]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        output[strcspn(output, "\n")] = '\0';
        return hm_fail(why, EIO, "%s show config failed%s%.120s", path, output[0] ? ": " : "", output);
    }
    return 0;
}

/* The value in a line "Name   = value", copied; "" where there is none. */
static char *find_value(const char *output, const char *name, char *value, size_t size)
{
    value[0] = '\0';
    for (const char *line = output; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *at = line + strlen(name);
        if (strncmp(line, name, strlen(name)) != 0)
            continue;
        at += strspn(at, " ");
        if (*at != '=')
            continue;
        at += 1 + strspn(at + 1, " ");
        snprintf(value, size, "%.*s", (int)strcspn(at, "\n"), at);
        return value;
    }
    return value;
}

/* Is `word` (`length` bytes) one of the comma-separated words? Slurm takes them in any case. */
static bool has_word(const char *list, const char *word, size_t length)
{
    for (const char *at = list; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ','))
        if (strcspn(at, ",") == length && strncasecmp(at, word, length) == 0)
            return true;
    return false;
}

static void check_setting(const char *output, const char *name, const char *wanted, struct hm_report *report)
{
    char value[512];
    find_value(output, name, value, sizeof(value));
    for (const char *word = wanted; *word;) {
        size_t length = strcspn(word, ",");
        if (!has_word(value, word, length)) {
            hm_report_change(report, "%s is %s: %.*s must be in it (slurm.conf)", name, *value ? value : "not set",
                             (int)length, word);
            return;
        }
        word += length + (word[length] == ',');
    }
    hm_report_ok(report, "%s is %s", name, value);
}

/* A prolog or epilog that Slurm cuts drains the node: what wipes memory must have ended before. */
static void check_timeout(const struct hm_config *config, const char *output, const char *name,
                          struct hm_report *report)
{
    char value[64];
    unsigned limit_s = config->fsdax_wipe_limit_s;
    unsigned long timeout_s = strtoul(find_value(output, name, value, sizeof(value)), NULL, 10);
    if (timeout_s == 0 || timeout_s >= NO_TIMEOUT || (limit_s == 0 && !hm_regions_are_there(HM_REGIONS_FOLDER)))
        return;
    if (limit_s == 0 || limit_s + MARGIN_S > timeout_s)
        hm_report_change(report,
                         "%s is %lu s: fsdax_wipe_limit is %u s in hybridmem.conf, and wants to be more than 0 s, and "
                         "%d s less than that",
                         name, timeout_s, limit_s, MARGIN_S);
    else
        hm_report_ok(report, "%s is %lu s, more than fsdax_wipe_limit", name, timeout_s);
}

/* Slurm takes plugins of its own major.minor only. */
static void check_version(const char *output, struct hm_report *report)
{
    char running[64];
    const char built[] = HM_SLURM_VERSION;
    find_value(output, "SLURM_VERSION", running, sizeof(running));
    size_t length = (size_t)(strrchr(built, '.') - built) + 1;
    if (strncmp(running, built, length) == 0)
        hm_report_ok(report, "Slurm is %s, and the plugin is built for %s", running, built);
    else
        hm_report_change(report,
                         "Slurm is %s, and the plugin is built for %s: build hybridmem again with this Slurm's headers",
                         *running ? running : "of unknown version", built);
}

void hm_config_check_slurm(const struct hm_config *config, const char *scontrol, struct hm_report *report)
{
    struct hm_error why;
    char path[512], slurm_conf[512], plugin_dirs[512];
    if (!find_scontrol(scontrol, path, sizeof(path))) {
        hm_report_change(
            report,
            "Slurm's settings are not known, as scontrol is not %s%s: install Slurm's commands, or say --scontrol FILE",
            scontrol ? "at " : "in its usual folders",
            scontrol         ? scontrol
            : geteuid() == 0 ? " (root does not use PATH)"
                             : " or in PATH");
        return;
    }
    char *output = malloc(MOST_OUTPUT);
    if (!output) {
        hm_report_change(report, "Slurm's settings are not known: out of memory");
        return;
    }
    if (run_scontrol(path, output, MOST_OUTPUT, &why) < 0) {
        hm_report_change(report, "Slurm's settings are not known, as %s: start slurmctld, or check slurm.conf",
                         why.text);
    } else {
        check_version(output, report);
        for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
            check_setting(output, settings[i].name, settings[i].wanted, report);
        for (size_t i = 0; i < sizeof(timeouts) / sizeof(timeouts[0]); i++)
            check_timeout(config, output, timeouts[i], report);
        hm_config_check_summary(config, output, report);
        find_value(output, "PluginDir", plugin_dirs, sizeof(plugin_dirs));
        hm_config_check_plugstack(find_value(output, "SLURM_CONF", slurm_conf, sizeof(slurm_conf)), plugin_dirs,
                                  report);
    }
    free(output);
}
