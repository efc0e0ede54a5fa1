/* SPDX-License-Identifier: Apache-2.0 */
/* Checks what must hold after a life (lifeplay.h). */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/files.h"
#include "lifeplay.h"
#include "lifeworld.h"
#include "unit/lib/scratch.h"

static char text[512]; /* what is wrong */

/* Adds one line to the count of its run. */
static void count_line(const char *line, unsigned n[RUNS])
{
    json_t *record = json_loads(line, 0, NULL);
    json_int_t number = json_integer_value(json_object_get(record, "restart_count"));
    if (record && number < RUNS) /* else the line is torn */
        n[number]++;
    json_decref(record);
}

/* Counts the records of each run. */
static void count_records(unsigned n[RUNS])
{
    char pattern[HM_CONFIG_PATH_MAX + 32], *line = NULL;
    size_t room = 0;
    glob_t files;
    memset(n, 0, RUNS * sizeof(n[0]));
    snprintf(pattern, sizeof(pattern), "%s/*-*-*/*.jsonl", world.config.record_dir);
    if (glob(pattern, 0, NULL, &files) == 0) {
        for (size_t i = 0; i < files.gl_pathc; i++) {
            FILE *file = fopen(files.gl_pathv[i], "r");
            while (file && getline(&line, &room, file) > 0)
                count_line(line, n);
            if (file)
                fclose(file);
        }
        globfree(&files);
    }
    free(line);
}

/* Does the folder have files other than `kept`? If so, `text` names one. */
static bool has_files(const char *folder, const char *kept)
{
    char pattern[256];
    glob_t files = {0};
    snprintf(pattern, sizeof(pattern), "%s/node/%s/*", scratch, folder);
    bool found = glob(pattern, 0, NULL, &files) == 0;
    const char *last = found ? strrchr(files.gl_pathv[0], '/') + 1 : "";
    found = found && (files.gl_pathc > 1 || strcmp(last, kept) != 0);
    if (found)
        snprintf(text, sizeof(text), "%s has %s", folder, last);
    globfree(&files);
    return found;
}

static bool is_setting_changed(void)
{
    char value[16] = "";
    hm_file_read(world_setting(), value, sizeof(value), NULL);
    snprintf(text, sizeof(text), "the setting is \"%s\"", value);
    return strcmp(value, UNCHANGED) != 0;
}

/* Is there exactly one record of each run that is to have one, and at most one of any other? After a fault, runs that
 * may merge can have one record together. */
static bool are_records_right(const struct life *life, const struct outcome *came, bool has_fault)
{
    unsigned n[RUNS], n_all = 0, n_entered = 0;
    bool are_right = true;
    count_records(n);
    for (int i = 0; i < RUNS; i++) {
        n_all += n[i];
        n_entered += came->was_entered[i];
        are_right =
            are_right && n[i] <= 1 && (n[i] == 1 || !came->was_entered[i] || (life->runs_may_merge && has_fault));
    }
    snprintf(text, sizeof(text), "records: %u and %u, wanted: %d and %d", n[0], n[1], came->was_entered[0],
             came->was_entered[1]);
    return are_right && (n_all > 0 || n_entered == 0);
}

const char *life_check(const struct life *life, const struct outcome *came, bool has_fault, bool was_killed)
{
    if (has_files("run/jobs", "lock") || has_files("resctrl/mon_groups", "") || has_files("state/pending", "") ||
        has_files("run/root/node/pending", "") || is_setting_changed() || !are_records_right(life, came, has_fault))
        return text;
    if (came->is_allowed)
        return "what is refused was allowed";
    if (world.has_namespaces)
        return "persistent memory is left";
    /* After a kill a program may run that the ledger does not name. On a real node that program ends with the job's
     * cgroup, or a reap finds it in /proc. Neither is played here. */
    return world_programs() > 0 && !was_killed && !(life->runs_may_merge && has_fault) ? "a program is left" : NULL;
}
