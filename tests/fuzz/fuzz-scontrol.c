/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the readers of scontrol's and squeue's answers; the first byte chooses the reader of scontrol's. Users write
 * parts of an answer, such as a job's comment. So the input is also put around Slurm's own words: only those may name a
 * job or its CPUs.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inputtext.h"
#include "slurm/nodename.h"
#include "slurm/scontrol.h"
#include "slurm/squeue.h"

#define OWN_CPUS "   Nodes=n[1-2] CPU_IDs=0-3 Mem=0 GRES= "

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Check that the job's own CPUs are found, or none, whatever its user has written before and after them. */
static void check_cpus(const char *before, const char *after)
{
    struct hm_set cpus, own;
    char *text;
    if (asprintf(&text, "%s" OWN_CPUS "%s", before, after) < 0)
        return;
    hm_set_parse(&own, "0-3", NULL);
    if (hm_scontrol_parse_cpus(text, "n1", &cpus, NULL) == 0 && !hm_set_equal(&cpus, &own))
        abort();
    /* If `before` names CPUs by itself, then the whole text names them twice and is refused. */
    if (hm_scontrol_parse_cpus(before, "n1", &cpus, NULL) == 0 && hm_scontrol_parse_cpus(text, "n1", &cpus, NULL) == 0)
        abort();
    free(text);
}

/* A name that was read stands at the beginning of the job's line, digit by digit. */
static void check_name(const char *text)
{
    char name[32], begin[128];
    if (hm_scontrol_parse_job(text, 7, name, sizeof(name), NULL) != 0)
        return;
    while (strncmp(text, "JobId=", 6) != 0)
        text = strchr(text, '\n') + 1;
    int digits = (int)strspn(name, "0123456789");
    if (name[digits] == '_')
        snprintf(begin, sizeof(begin), "JobId=7 ArrayJobId=%.*s ArrayTaskId=%s ", digits, name, name + digits + 1);
    else if (name[digits] == '+')
        snprintf(begin, sizeof(begin), "JobId=7 HetJobId=%.*s HetJobOffset=%s ", digits, name, name + digits + 1);
    else
        snprintf(begin, sizeof(begin), "JobId=%s ", name);
    if (strncmp(text, begin, strlen(begin)) != 0 || strncmp(text, "JobId=7 ", 8) != 0)
        abort();
}

/* A comment that was read is a part of the text; a node's name is its first word, and the only one. */
static void check_words(const char *text)
{
    char comment[16], name[16];
    uint32_t job_id;
    if (hm_squeue_parse_comment(text, &job_id, comment, sizeof(comment)) == 1 &&
        (!strstr(text, comment) || strchr(comment, '\n')))
        abort();
    if (hm_nodename_parse_aliases(text, "n1", name, sizeof(name), NULL) == 1 &&
        (!name[0] || strncmp(text, name, strlen(name)) != 0 ||
         strspn(text + strlen(name), " \n") != strlen(text) - strlen(name)))
        abort();
    if (hm_nodename_is_on(text, "n1") && !strstr(text, " NodeHostName=n1"))
        abort();
}

/* A QOS that was read is one word, right after the job's number. */
static void check_qos(const char *text)
{
    char qos[16], line[32];
    if (hm_squeue_parse_qos(text, 7, qos, sizeof(qos), NULL) != 0)
        return;
    snprintf(line, sizeof(line), "7 %s", qos);
    if (!qos[0] || strpbrk(qos, " \n") || !strstr(text, line))
        abort();
}

static void check_numbering(const char *text)
{
    struct hm_numbering numbering;
    unsigned usable;
    if (hm_scontrol_parse_usable(text, &usable, NULL) == 0 && (usable == 0 || usable > HM_SET_BITS))
        abort();
    if (hm_scontrol_parse_numbering(text, &numbering, NULL) == 0 &&
        (numbering.cores == 0 || numbering.threads == 0 || numbering.release > 9999 ||
         (uint64_t)numbering.cores * numbering.threads > HM_SET_BITS))
        abort();
}

/* Each value is the rest of a line, and the next one comes after it. */
static void check_values(const char *text)
{
    char value[32];
    for (const char *at = text, *next; (next = hm_scontrol_value(at, "Name", value, sizeof(value))); at = next)
        if (next <= at || next > text + strlen(text) || strncmp(next, value, strlen(value)) != 0 ||
            (strlen(value) < sizeof(value) - 1 && next[strlen(value)] != '\0' && next[strlen(value)] != '\n'))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *text = input_text(data + 1, size - 1);
    if (!text)
        return 0;
    if (hm_squeue_parse(text, 7) == 1 && !strchr(text, '7'))
        abort();
    check_qos(text);
    check_words(text);
    char *gap = strchr(text, '|');
    if (data[0] % 4 == 0 && gap) {
        *gap = '\0';
        check_cpus(text, gap + 1);
    } else if (data[0] % 4 == 1) {
        check_name(text);
    } else if (data[0] % 4 == 2) {
        check_numbering(text);
    } else {
        check_values(text);
    }
    free(text);
    return 0;
}
