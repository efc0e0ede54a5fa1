/* SPDX-License-Identifier: Apache-2.0 */
#include "squeue.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "program.h"

#define MOST_TEXT (1 << 20) /* room for an array of 50,000 tasks */
#define PATIENCE_MS 2500    /* a prolog or an epilog waits for the answer */
#define LONG_MS 20000       /* a helper of node_features does */

/* Other states are of a job that is nowhere (PENDING, REQUEUE_HOLD, SPECIAL_EXIT...) or over. */
static bool is_running(const char *state)
{
    static const char *const running[] = {"RUNNING",     "SUSPENDED", "STOPPED",   "COMPLETING",
                                          "CONFIGURING", "RESIZING",  "SIGNALING", "STAGE_OUT"};
    for (size_t i = 0; i < sizeof(running) / sizeof(running[0]); i++)
        if (strcmp(state, running[i]) == 0)
            return true;
    return false;
}

int hm_squeue_parse(const char *text, uint32_t job_id)
{
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        unsigned id;
        char state[16];
        if (sscanf(line, "%10u %15[A-Z_]", &id, state) == 2 && id == job_id)
            return is_running(state);
    }
    return 0;
}

/* Asks about one job in the given format; `node` "": on any. Returns 0, or -1 with a text, and with what squeue said in
 * `text`. */
static int ask(uint32_t job_id, const char *node, char *format, char *text, size_t size, struct hm_error *error)
{
    char id[32], place[96];
    char command[] = "squeue", plain[] = "--noheader";
    char *words[] = {command, plain, format, id, node[0] ? place : NULL, NULL};
    snprintf(id, sizeof(id), "--jobs=%u", job_id);
    snprintf(place, sizeof(place), "--nodelist=%s", node);
    if (hm_slurmprogram_ask(words, PATIENCE_MS, text, size, error) != 0)
        return -1;
    if (strlen(text) == size - 1)
        return hm_fail(error, EMSGSIZE, "squeue says more of job %u than is read", job_id);
    return 0;
}

int hm_squeue_is_running(uint32_t job_id, const char *node, struct hm_error *error)
{
    static char text[MOST_TEXT];
    char format[] = "--format=%A %T";
    if (ask(job_id, node, format, text, sizeof(text), error) != 0)
        return strstr(text, "Invalid job id") ? 0 : -1;
    return hm_squeue_parse(text, job_id);
}

int hm_squeue_parse_qos(const char *text, uint32_t job_id, char *qos, size_t size, struct hm_error *error)
{
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        unsigned id;
        int blank = 0;
        if (sscanf(line, "%10u%n", &id, &blank) != 1 || id != job_id || line[blank] != ' ')
            continue;
        const char *name = line + blank + 1;
        size_t length = strcspn(name, " \n");
        if (length == 0 || length >= size || strncmp(name, "(null)", length) == 0)
            break;
        memcpy(qos, name, length);
        qos[length] = '\0';
        return 0;
    }
    return hm_fail(error, ENODATA, "squeue names no QOS of job %u", job_id);
}

int hm_squeue_qos(uint32_t job_id, char *qos, size_t size, struct hm_error *error)
{
    static char text[MOST_TEXT];
    char format[] = "--format=%A %q";
    if (ask(job_id, "", format, text, sizeof(text), error) != 0)
        return -1;
    return hm_squeue_parse_qos(text, job_id, qos, size, error);
}

int hm_squeue_parse_comment(const char *text, uint32_t *job_id, char *comment, size_t size)
{
    unsigned id;
    int at = 0;
    if (sscanf(text, "%10u %n", &id, &at) != 1 || at == 0)
        return 0;
    size_t length = strcspn(text + at, "\n");
    while (length > 0 && text[at + length - 1] == ' ')
        length--;
    bool has_none = length == strlen("(null)") && strncmp(text + at, "(null)", length) == 0;
    snprintf(comment, size, "%.*s", has_none ? 0 : (int)length, text + at);
    *job_id = id;
    return 1;
}

int hm_squeue_configuring(const char *node, uint32_t *job_id, char *comment, size_t size, struct hm_error *error)
{
    char place[96], text[4096];
    char command[] = "squeue", plain[] = "--noheader", state[] = "--states=CONFIGURING";
    char format[] = "--Format=JobID:12,admin_comment:64";
    char *words[] = {command, plain, state, format, place, NULL};
    snprintf(place, sizeof(place), "--nodelist=%s", node);
    if (hm_slurmprogram_ask(words, LONG_MS, text, sizeof(text), error) != 0)
        return -1;
    return hm_squeue_parse_comment(text, job_id, comment, size);
}
