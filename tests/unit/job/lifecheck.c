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

struct records {
    /* number of lines of each run. Where a process is killed before it removes the entry, the record is written again;
     * reports take one line of a run */
    unsigned n[RUNS];
    char end[RUNS][40];
    bool differs; /* two lines of one run have different ends, so that reports would count both */
};

static void count_line(const char *line, struct records *records)
{
    json_t *record = json_loads(line, 0, NULL);
    json_int_t number = json_integer_value(json_object_get(record, "restart_count"));
    const char *end = json_string_value(json_object_get(record, "end"));
    if (end && number < RUNS) { /* else the line is torn */
        if (records->n[number]++ == 0)
            snprintf(records->end[number], sizeof(records->end[number]), "%s", end);
        records->differs |= strcmp(records->end[number], end) != 0;
    }
    json_decref(record);
}

static void read_records(struct records *records)
{
    char pattern[HM_CONFIG_PATH_MAX + 32], *line = NULL;
    size_t room = 0;
    glob_t files;
    memset(records, 0, sizeof(*records));
    snprintf(pattern, sizeof(pattern), "%s/*-*-*/*.jsonl", world.config.record_dir);
    if (glob(pattern, 0, NULL, &files) == 0) {
        for (size_t i = 0; i < files.gl_pathc; i++) {
            FILE *file = fopen(files.gl_pathv[i], "r");
            while (file && getline(&line, &room, file) > 0)
                count_line(line, records);
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

static bool lacks_records(const struct life *life, const struct outcome *came, bool has_fault)
{
    struct records records;
    read_records(&records);
    snprintf(text, sizeof(text), "records: %u and %u, wanted: %d and %d%s", records.n[0], records.n[1],
             came->was_entered[0], came->was_entered[1], records.differs ? ", with different ends" : "");
    if (records.differs)
        return true;
    if (life->runs_may_merge && has_fault)
        return records.n[0] + records.n[1] == 0;
    return (came->was_entered[0] && records.n[0] == 0) || (came->was_entered[1] && records.n[1] == 0);
}

const char *life_check(const struct life *life, const struct outcome *came, bool has_fault, bool was_killed)
{
    if (has_files("run/jobs", "lock") || has_files("resctrl/mon_groups", "") || has_files("state/pending", "") ||
        is_setting_changed() || lacks_records(life, came, has_fault))
        return text;
    if (came->is_allowed)
        return "what is refused was allowed";
    if (world.has_namespaces)
        return "persistent memory is left";
    /* After a kill the ledger may no longer name a program that runs. On a real node that program ends with the job's
     * cgroup, or a reap finds it in /proc. Neither is played here. */
    return world_programs() > 0 && !was_killed && !(life->runs_may_merge && has_fault) ? "a program is left" : NULL;
}
