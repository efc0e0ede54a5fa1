/* SPDX-License-Identifier: Apache-2.0 */
/* Checks Slurm's settings that hybridmem needs, by the output of `scontrol show config`. */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/topology/regions.h"
#include "job/namespaces/hooklimit.h"
#include "parts.h"
#include "slurm/program.h"
#include "slurm/scontrol.h"

#define MOST_OUTPUT 65536

/* A setting of Slurm: its value must contain every word of `wanted` (separated by commas), and must not contain
 * `unwanted` (NULL: there is no such word). */
struct setting {
    const char *name, *wanted, *unwanted;
    const char *why_not; /* what Slurm does with that word */
};

static const struct setting settings[] = {
    {"ProctrackType", "proctrack/cgroup", NULL, NULL},
    {"TaskPlugin", "task/affinity,task/cgroup", NULL, NULL},
    {"PrEpPlugins", "prep/script", NULL, NULL}, /* which runs prologs and epilogs of plugins, too; the default */
    /* Only slurmd finds out whether plugins have prologs (spank_has_prolog), and with RunInJob slurmstepd asks. */
    {"PrologFlags", "Contain", "RunInJob", "Slurm (24.05 to 26.05) runs no prolog and no epilog of plugins with it"},
};

/* Limits of prologs and epilogs in seconds; later versions of Slurm have one for each. */
static const char *const timeouts[] = {"PrologEpilogTimeout", "PrologTimeout", "EpilogTimeout"};
#define NO_TIMEOUT 65533 /* Slurm writes "no limit" as this number or a larger one */

/* Finds the absolute path of scontrol. Returns false if there is none. */
static bool find_scontrol(const char *given, char *path, size_t size)
{
    if (given) {
        char *absolute = realpath(given, NULL);
        bool is_there = absolute && strlen(absolute) < size && access(absolute, X_OK) == 0;
        if (is_there)
            memcpy(path, absolute, strlen(absolute) + 1);
        free(absolute);
        return is_there;
    }
    if (hm_slurmprogram_find("scontrol", path, size) == 0)
        return true;
    /* Root does not search PATH, which may contain another user's folders. */
    const char *folders = geteuid() == 0 ? NULL : getenv("PATH");
    while (folders && *folders) {
        size_t length = strcspn(folders, ":");
        snprintf(path, size, "%.*s/scontrol", (int)length, folders);
        if (folders[0] == '/' && access(path, X_OK) == 0)
            return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}

/* Whether `word` (`length` bytes) is one of the comma-separated words, in upper or lower case, as for Slurm. */
static bool has_word(const char *list, const char *word, size_t length)
{
    for (const char *at = list; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ','))
        if (strcspn(at, ",") == length && strncasecmp(at, word, length) == 0)
            return true;
    return false;
}

static void check_setting(const char *output, const struct setting *setting, struct hm_report *report)
{
    char value[512];
    const char *unwanted = setting->unwanted;
    hm_scontrol_value(output, setting->name, value, sizeof(value));
    for (const char *word = setting->wanted; *word;) {
        size_t length = strcspn(word, ",");
        if (!has_word(value, word, length)) {
            hm_report_change(report, "%s is %s: %.*s must be in it (slurm.conf)", setting->name,
                             *value ? value : "not set", (int)length, word);
            return;
        }
        word += length + (word[length] == ',');
    }
    if (unwanted && has_word(value, unwanted, strlen(unwanted)))
        hm_report_change(report, "%s is %s: %s must not be in it (slurm.conf), as %s", setting->name, value, unwanted,
                         setting->why_not);
    else
        hm_report_ok(report, "%s is %s", setting->name, value);
}

/*
 * Checks that a prolog or epilog that waits in vain for a file server or a directory, or wipes memory, ends before
 * Slurm's limit for it: Slurm drains a node whose prolog or epilog exceeds that.
 */
static void check_timeout(const struct hm_config *config, const char *output, const char *name,
                          struct hm_report *report)
{
    char value[64];
    unsigned limit_s = config->fsdax_wipe_limit_s;
    unsigned margin_s = hm_hooklimit_margin_s(config);
    hm_scontrol_value(output, name, value, sizeof(value));
    unsigned long timeout_s = strtoul(value, NULL, 10);
    if (timeout_s == 0 || timeout_s >= NO_TIMEOUT)
        return;
    if (limit_s == 0 && !hm_regions_are_there(HM_REGIONS_FOLDER)) {
        if (timeout_s > HM_HOOKLIMIT_STUCK_S)
            hm_report_ok(report, "%s is %lu s", name, timeout_s);
        else
            hm_report_change(report,
                             "%s is %lu s: it must be more than %d s (slurm.conf), as our prolog and epilog take so "
                             "long where a file server does not answer, and Slurm then drains the node",
                             name, timeout_s, HM_HOOKLIMIT_STUCK_S);
        return;
    }
    if (limit_s == 0 || limit_s + margin_s > timeout_s)
        hm_report_change(report,
                         "%s is %lu s: fsdax_wipe_limit is %u s in hybridmem.conf, and must be more than 0 s, and at "
                         "least %u s less than %s",
                         name, timeout_s, limit_s, margin_s, name);
    else
        hm_report_ok(report, "%s is %lu s, more than fsdax_wipe_limit", name, timeout_s);
}

/* Checks the plugin's version: Slurm only loads plugins that were built for its own major.minor version. */
static void check_version(const char *output, struct hm_report *report)
{
    char running[64];
    const char built[] = HM_SLURM_VERSION;
    hm_scontrol_value(output, "SLURM_VERSION", running, sizeof(running));
    size_t length = (size_t)(strrchr(built, '.') - built) + 1;
    if (strncmp(running, built, length) == 0)
        hm_report_ok(report, "Slurm is %s, and the plugin is built for %s", running, built);
    else
        hm_report_change(report,
                         "Slurm is %s, and the plugin is built for %s: build hybridmem again with this Slurm's headers",
                         *running ? running : "of unknown version", built);
}

void hm_config_check_slurm(const struct hm_config *config, const char *path, const char *scontrol,
                           struct hm_report *report)
{
    struct hm_error why;
    char program[512];
    if (!find_scontrol(scontrol, program, sizeof(program))) {
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
    if (hm_scontrol_config(program, output, MOST_OUTPUT, &why) < 0) {
        hm_report_change(report, "Slurm's settings are not known, as %s: start slurmctld, or check slurm.conf",
                         why.text);
    } else {
        check_version(output, report);
        for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
            check_setting(output, &settings[i], report);
        for (size_t i = 0; i < sizeof(timeouts) / sizeof(timeouts[0]); i++)
            check_timeout(config, output, timeouts[i], report);
        hm_config_check_summary(config, output, report);
        hm_config_check_plugstack(output, path, report);
    }
    free(output);
}
