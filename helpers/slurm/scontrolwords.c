/* SPDX-License-Identifier: Apache-2.0 */
/* Parses what scontrol writes. Pure. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "scontrol.h"

const char *hm_scontrol_value(const char *at, const char *name, char *value, size_t size)
{
    value[0] = '\0';
    for (; at && *at; at = at[strcspn(at, "\n")] ? at + strcspn(at, "\n") + 1 : NULL) {
        const char *sign = at + strlen(name);
        if (strncmp(at, name, strlen(name)) != 0)
            continue;
        if (*sign == '[')
            sign += 1 + strspn(sign + 1, "0123456789") + 1;
        sign += strspn(sign, " ");
        if (*sign != '=')
            continue;
        sign += 1 + strspn(sign + 1, " ");
        snprintf(value, size, "%.*s", (int)strcspn(sign, "\n"), sign);
        return sign;
    }
    return NULL;
}

/* Find the job's own line: tasks of an array and components of a heterogeneous job have lines of their own. */
static const char *find_job(const char *text, uint32_t job_id, size_t *length)
{
    char begin[32];
    snprintf(begin, sizeof(begin), "JobId=%u ", job_id);
    while (text && strncmp(text, begin, strlen(begin)) != 0) {
        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
    }
    *length = text ? strcspn(text, "\n") : 0;
    return text;
}

int hm_scontrol_parse_cpus(const char *text, uint32_t job_id, const char *node, hm_has_node *has_node,
                           struct hm_set *cpus, struct hm_error *error)
{
    char nodes[1024], list[256];
    size_t length;
    const char *line = find_job(text, job_id, &length);
    for (const char *at = line; at && (at = strstr(at, " Nodes=")) && at < line + length; at++) {
        if (sscanf(at, " Nodes=%1023s CPU_IDs=%255s", nodes, list) == 2 && has_node(nodes, node))
            return hm_set_parse(cpus, list, error);
    }
    return hm_fail(error, EINVAL, "scontrol names no CPUs of node %s", node);
}

/* Read the number after a word. Returns false where there is none from 1 to HM_SET_BITS. */
static bool find_number(const char *text, const char *word, unsigned *number)
{
    const char *at = strstr(text, word);
    return at && sscanf(at + strlen(word), "%5u", number) == 1 && *number > 0 && *number <= HM_SET_BITS;
}

int hm_scontrol_parse_numbering(const char *text, struct hm_numbering *numbering, struct hm_error *error)
{
    static const char version[] = " Version=";
    unsigned sockets, cores, threads, year, month;
    const char *at = strstr(text, version);
    if (!at || sscanf(at + strlen(version), "%2u.%2u", &year, &month) != 2 ||
        !find_number(text, " Sockets=", &sockets) || !find_number(text, " CoresPerSocket=", &cores) ||
        !find_number(text, " ThreadsPerCore=", &threads) || (uint64_t)sockets * cores * threads > HM_SET_BITS)
        return hm_fail(error, EINVAL,
                       "scontrol does not say how the node's cores are counted (Version, Sockets, CoresPerSocket, "
                       "ThreadsPerCore)");
    *numbering = (struct hm_numbering){.cores = sockets * cores, .threads = threads, .release = year * 100 + month};
    return 0;
}
