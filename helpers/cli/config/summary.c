/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks what summaries in Slurm's database need: slurmctld's epilog, slurmdbd, and on slurmctld's host the spool
 * folder.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "parts.h"
#include "slurm/scontrol.h"

#define NAME "hybridmem-spool"
#define PROGRAM HM_PKGLIBEXECDIR "/" NAME
#define MOST_SCRIPT 65536
#define DATABASE "accounting_storage/slurmdbd"

/* Whether a script of the site names hybridmem's program; -1: it cannot be read. */
static int names_program(const char *path)
{
    int result = -1;
    char *text = calloc(1, MOST_SCRIPT);
    FILE *script = text ? fopen(path, "re") : NULL;
    if (script) {
        size_t length = fread(text, 1, MOST_SCRIPT - 1, script);
        result = memmem(text, length, NAME, strlen(NAME)) != NULL;
        fclose(script);
    }
    free(text);
    return result;
}

/* Whether this host is one of slurmctld's, which are named with their addresses: ctl1(10.0.0.1). */
static bool is_controller(const char *output)
{
    char value[512], own[256] = "";
    gethostname(own, sizeof(own) - 1);
    own[strcspn(own, ".")] = '\0';
    for (const char *at = output; (at = hm_scontrol_value(at, "SlurmctldHost", value, sizeof(value)));) {
        value[strcspn(value, "(.")] = '\0';
        if (strcmp(value, own) == 0 || strcmp(value, "localhost") == 0)
            return true;
    }
    return false;
}

/* The script is on slurmctld's host: where it cannot be read, other hosts cannot tell what it calls. */
static void check_epilog(const char *output, struct hm_report *report)
{
    char value[PATH_MAX], last[PATH_MAX] = "";
    int names = 0;
    for (const char *at = output; (at = hm_scontrol_value(at, "EpilogSlurmctld", value, sizeof(value)));) {
        bool is_program = strcmp(value, PROGRAM) == 0;
        int found = is_program ? 1 : names_program(value);
        if (found > 0) {
            hm_report_ok(report, "EpilogSlurmctld is %s%s", value, is_program ? "" : ", which has " NAME);
            return;
        }
        names = found < 0 ? found : names;
        memcpy(last, value, sizeof(last));
    }
    bool is_set = last[0] && strcmp(last, "(null)") != 0;
    if (is_set && names < 0 && !is_controller(output))
        hm_report_note(
            report,
            "EpilogSlurmctld is %s, which cannot be read here: check on slurmctld's host that it calls " PROGRAM, last);
    else
        hm_report_change(report, "EpilogSlurmctld is %s, and leaves no summaries: %s " PROGRAM " (slurm.conf)",
                         is_set ? last : "not set", is_set ? "have it call" : "make it");
}

static void check_database(const char *output, struct hm_report *report)
{
    char value[128];
    hm_scontrol_value(output, "AccountingStorageType", value, sizeof(value));
    if (strcmp(value, DATABASE) == 0)
        hm_report_ok(report, "AccountingStorageType is %s", value);
    else
        hm_report_change(report,
                         "AccountingStorageType is %s, which has no field for summaries: use " DATABASE
                         ", or summary_field = none in hybridmem.conf",
                         value[0] ? value : "not set");
}

static void check_spool(const struct hm_config *config, const char *output, struct hm_report *report)
{
    char user[256] = "";
    struct stat status;
    hm_scontrol_value(output, "SlurmUser", user, sizeof(user));
    const char *id = strchr(user, '(');
    if (!is_controller(output) || !id)
        return;
    unsigned long uid = strtoul(id + 1, NULL, 10);
    user[id - user] = '\0';
    if (lstat(config->spool_dir, &status) < 0 && errno != ENOENT)
        hm_report_change(report, "spool_dir %s cannot be looked at: %s", config->spool_dir, strerror(errno));
    else if (lstat(config->spool_dir, &status) < 0)
        hm_report_change(report, "spool_dir %s: %s: make it with install -d -o %s -m 0700 %s", config->spool_dir,
                         strerror(errno), user, config->spool_dir);
    else if (!S_ISDIR(status.st_mode) || status.st_uid != uid || (status.st_mode & (S_IWGRP | S_IWOTH)))
        hm_report_change(report,
                         "spool_dir %s must be a folder of SlurmUser that nobody else may write: chown %s %s and chmod "
                         "0700 %s",
                         config->spool_dir, user, config->spool_dir, config->spool_dir);
    else
        hm_report_ok(report, "spool_dir %s belongs to %s", config->spool_dir, user);
}

void hm_config_check_summary(const struct hm_config *config, const char *output, struct hm_report *report)
{
    if (config->summary_field == HM_SUMMARY_NONE)
        return;
    check_epilog(output, report);
    check_database(output, report);
    check_spool(config, output, report);
}
