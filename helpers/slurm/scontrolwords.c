/* SPDX-License-Identifier: Apache-2.0 */
/* Parses what scontrol writes. Pure. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "nodelist.h"
#include "scontrol.h"

#define MOST_DIGITS 10 /* of a job's number */

const char *hm_scontrol_value(const char *at, const char *name, char *value, size_t size)
{
    value[0] = '\0';
    for (; at && *at; at = at[strcspn(at, "\n")] ? at + strcspn(at, "\n") + 1 : NULL) {
        const char *sign = at + strlen(name);
        if (strncmp(at, name, strlen(name)) != 0)
            continue;
        if (*sign == '[') {
            sign += 1 + strspn(sign + 1, "0123456789");
            sign += *sign == ']';
        }
        sign += strspn(sign, " ");
        if (*sign != '=')
            continue;
        sign += 1 + strspn(sign + 1, " ");
        snprintf(value, size, "%.*s", (int)strcspn(sign, "\n"), sign);
        return sign;
    }
    return NULL;
}

/* Some bytes of the text; not terminated. */
struct span {
    const char *at;
    size_t length;
};

/* Read the word after a name such as "Nodes=". Returns where it ends, or NULL. */
static const char *read_word(const char *at, const char *name, struct span *word)
{
    if (strncmp(at, name, strlen(name)) != 0)
        return NULL;
    *word = (struct span){at + strlen(name), strcspn(at + strlen(name), " \n")};
    return word->at + word->length;
}

/* Reads the digits after a name such as "ArrayJobId=", and the blank after them. Returns what follows, or NULL. */
static const char *read_digits(const char *at, const char *name, struct span *digits)
{
    const char *end = read_word(at, name, digits);
    bool is_number = end && *end == ' ' && digits->length > 0 && digits->length <= MOST_DIGITS;
    return is_number && strspn(digits->at, "0123456789") == digits->length ? end + 1 : NULL;
}

static bool read_pair(const char *at, const char *first, const char *second, struct span pair[2])
{
    at = read_digits(at, first, &pair[0]);
    return at && read_digits(at, second, &pair[1]);
}

int hm_scontrol_parse_job(const char *text, uint32_t job_id, char *name, size_t size, struct hm_error *error)
{
    char begin[32];
    struct span pair[2];
    int length = snprintf(begin, sizeof(begin), "JobId=%u ", job_id);
    /* scontrol's warnings may come before the job */
    while (text && strncmp(text, "JobId=", strlen("JobId=")) != 0) {
        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
    }
    if (!text || strncmp(text, begin, (size_t)length) != 0)
        return hm_fail(error, EINVAL, "scontrol does not show job %u", job_id);
    text += length;
    if (read_pair(text, "ArrayJobId=", "ArrayTaskId=", pair))
        snprintf(name, size, "%.*s_%.*s", (int)pair[0].length, pair[0].at, (int)pair[1].length, pair[1].at);
    else if (read_pair(text, "HetJobId=", "HetJobOffset=", pair))
        snprintf(name, size, "%.*s+%.*s", (int)pair[0].length, pair[0].at, (int)pair[1].length, pair[1].at);
    else
        snprintf(name, size, "%u", job_id);
    return 0;
}

/*
 * The text always has Slurm's own words for the node, so the same words written by a user are a second occurrence. To
 * count them all, each "Nodes=" after a blank or a line feed is looked at.
 */
int hm_scontrol_parse_cpus(const char *text, const char *node, struct hm_set *cpus, struct hm_error *error)
{
    static const char nodes_name[] = "Nodes=", cpus_name[] = " CPU_IDs=";
    struct span nodes, list = {NULL, 0}, found = {NULL, 0};
    char numbers[1024];
    unsigned count = 0;
    for (const char *at = text; (at = strstr(at, nodes_name)); at += strlen(nodes_name)) {
        const char *end = at > text && strchr(" \n", at[-1]) ? read_word(at, nodes_name, &nodes) : NULL;
        if (!end || !read_word(end, cpus_name, &list) || !hm_nodelist_has(nodes.at, nodes.length, node))
            continue;
        found = list;
        count++;
    }
    if (count > 1)
        return hm_fail(error, EBADMSG,
                       "scontrol names CPUs of node %s %u times for the job: its user has written the same words in a "
                       "text such as the job's name or comment",
                       node, count);
    if (count == 0)
        return hm_fail(error, EINVAL, "scontrol names no CPUs of node %s", node);
    if (found.length >= sizeof(numbers))
        return hm_fail(error, EINVAL, "scontrol's list of CPUs of node %s has more than %zu characters", node,
                       sizeof(numbers) - 1);
    snprintf(numbers, sizeof(numbers), "%.*s", (int)found.length, found.at);
    return hm_set_parse(cpus, numbers, error);
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
    if (!at || sscanf(at + strlen(version), "%2u.%2u", &year, &month) != 2 || year > 99 || month > 99 ||
        !find_number(text, " Sockets=", &sockets) || !find_number(text, " CoresPerSocket=", &cores) ||
        !find_number(text, " ThreadsPerCore=", &threads) || (uint64_t)sockets * cores * threads > HM_SET_BITS)
        return hm_fail(error, EINVAL,
                       "scontrol does not say how the node's cores are counted (Version, Sockets, CoresPerSocket, "
                       "ThreadsPerCore)");
    *numbering = (struct hm_numbering){.cores = sockets * cores, .threads = threads, .release = year * 100 + month};
    return 0;
}

/* CPUEfctv are those of CPUTot that are not specialized. CPUTot may count one CPU for each core, whatever
 * ThreadsPerCore is. */
int hm_scontrol_parse_usable(const char *text, unsigned *cores, struct hm_error *error)
{
    struct hm_numbering numbering;
    unsigned all, usable;
    if (hm_scontrol_parse_numbering(text, &numbering, error) != 0)
        return -1;
    if (!find_number(text, " CPUTot=", &all) || !find_number(text, " CPUEfctv=", &usable) || usable > all)
        return hm_fail(error, EINVAL,
                       "scontrol does not say how many CPUs of the node jobs can have (CPUTot, CPUEfctv)");
    *cores = (unsigned)((uint64_t)numbering.cores * usable / all);
    return *cores > 0 ? 0 : hm_fail(error, EINVAL, "by scontrol jobs can have no core of the node");
}
