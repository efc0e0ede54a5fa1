/* SPDX-License-Identifier: Apache-2.0 */
#include "scontrol.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

#define PATIENCE_MS 20000 /* time that a controller may take to answer */
/* time for each of the two questions for a job's name, as the epilog that asks them still has a record to write; and
 * for what a step asks before its tasks start */
#define SHORT_PATIENCE_MS 2500

int hm_scontrol_config(const char *path, char *text, size_t size, struct hm_error *error)
{
    char command[] = "scontrol", show[] = "show", config[] = "config";
    char *words[] = {command, show, config, NULL};
    return hm_slurmprogram_run(path, words, PATIENCE_MS, text, size, error);
}

int hm_scontrol_drain(const char *node, const char *reason, struct hm_error *error)
{
    char name[96], why[HM_ERROR_TEXT + 16], text[256];
    char command[] = "scontrol", update[] = "update", state[] = "state=drain";
    char *words[] = {command, update, name, state, why, NULL};
    snprintf(name, sizeof(name), "nodename=%s", node);
    snprintf(why, sizeof(why), "reason=%s", reason);
    return hm_slurmprogram_ask(words, PATIENCE_MS, text, sizeof(text), error);
}

/* Change one thing: of "nodename=n1", say. */
static int change(const char *what, const char *key, const char *value, struct hm_error *error)
{
    char which[96], pair[1024 + 32], text[256];
    char command[] = "scontrol", update[] = "update";
    char *words[] = {command, update, which, pair, NULL};
    snprintf(which, sizeof(which), "%s", what);
    snprintf(pair, sizeof(pair), "%s=%s", key, value);
    return hm_slurmprogram_ask(words, PATIENCE_MS, text, sizeof(text), error);
}

int hm_scontrol_activate(const char *node, const char *features, struct hm_error *error)
{
    char what[96];
    snprintf(what, sizeof(what), "nodename=%s", node);
    return change(what, "activefeatures", features, error);
}

int hm_scontrol_offer(const char *node, const char *features, struct hm_error *error)
{
    char what[96];
    snprintf(what, sizeof(what), "nodename=%s", node);
    return change(what, "availablefeatures", features, error);
}

int hm_scontrol_comment(const char *name, const char *comment, struct hm_error *error)
{
    char what[48];
    snprintf(what, sizeof(what), "jobid=%.32s", name);
    return change(what, "admincomment", comment, error);
}

/* Have scontrol show the job of this name: an id, a task of an array, or a component of a heterogeneous job. */
static int ask_for_job(char *name, int patience_ms, char *text, size_t size, struct hm_error *error)
{
    char command[] = "scontrol", show[] = "show", job[] = "job", detail[] = "-d", line[] = "-o";
    char *words[] = {command, detail, line, show, job, name, NULL};
    return hm_slurmprogram_ask(words, patience_ms, text, size, error);
}

int hm_scontrol_name(uint32_t job_id, const char *likely, char *name, size_t size, struct hm_error *error)
{
    char id[32], text[4096]; /* the job's name is at the beginning */
    if (likely) {
        snprintf(id, sizeof(id), "%s", likely);
        if (ask_for_job(id, SHORT_PATIENCE_MS, text, sizeof(text), NULL) == 0 &&
            hm_scontrol_parse_job(text, job_id, name, size, NULL) == 0)
            return 0;
    }
    snprintf(id, sizeof(id), "%u", job_id);
    return ask_for_job(id, SHORT_PATIENCE_MS, text, sizeof(text), error) == 0
               ? hm_scontrol_parse_job(text, job_id, name, size, error)
               : -1;
}

/*
 * For the number of an array or of a heterogeneous job, scontrol shows all jobs of it, and first the one that was asked
 * for. That may be more than is read here, so the first answer is read for that job's own name alone. Where this is not
 * the number ("12_3", "12+1"), scontrol is asked again, with the name: the second answer has no other job's lines.
 */
int hm_scontrol_cpus(uint32_t job_id, const char *node, struct hm_set *cpus, struct hm_error *error)
{
    static char text[1 << 20];
    char id[32], name[32];
    snprintf(id, sizeof(id), "%u", job_id);
    if (ask_for_job(id, PATIENCE_MS, text, sizeof(text), error) != 0 ||
        hm_scontrol_parse_job(text, job_id, name, sizeof(name), error) != 0)
        return -1;
    if (strcmp(id, name) != 0 && (ask_for_job(name, PATIENCE_MS, text, sizeof(text), error) != 0 ||
                                  hm_scontrol_parse_job(text, job_id, name, sizeof(name), error) != 0))
        return -1;
    if (strlen(text) >= sizeof(text) - 1)
        return hm_fail(error, EMSGSIZE, "scontrol says more of job %s than is read", name);
    return hm_scontrol_parse_cpus(text, node, cpus, error);
}

/* Have scontrol show one thing of a kind. */
static int show(const char *kind, const char *name, int patience_ms, char *text, size_t size, struct hm_error *error)
{
    char command[] = "scontrol", line[] = "-o", verb[] = "show", what[16], which[96];
    char *words[] = {command, line, verb, what, which, NULL};
    snprintf(what, sizeof(what), "%s", kind);
    snprintf(which, sizeof(which), "%s", name);
    return hm_slurmprogram_ask(words, patience_ms, text, size, error);
}

int hm_scontrol_node(const char *node, char *text, size_t size, struct hm_error *error)
{
    return show("node", node, PATIENCE_MS, text, size, error);
}

int hm_scontrol_aliases(const char *host, char *text, size_t size, struct hm_error *error)
{
    return show("aliases", host, PATIENCE_MS, text, size, error);
}

int hm_scontrol_numbering(const char *node, struct hm_numbering *numbering, struct hm_error *error)
{
    static char text[65536];
    return hm_scontrol_node(node, text, sizeof(text), error) == 0 ? hm_scontrol_parse_numbering(text, numbering, error)
                                                                  : -1;
}

int hm_scontrol_usable(const char *node, unsigned *cores, struct hm_error *error)
{
    static char text[65536];
    return show("node", node, SHORT_PATIENCE_MS, text, sizeof(text), error) == 0
               ? hm_scontrol_parse_usable(text, cores, error)
               : -1;
}
