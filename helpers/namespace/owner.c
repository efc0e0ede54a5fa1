/* SPDX-License-Identifier: Apache-2.0 */
#include "owner.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../core/size.h"
#include "../core/tiers.h"

#define PREFIX "hybridmem:"
#define BETWEEN ", \t\r\n"
#define MOST_WORD 24 /* "4294967295.4294967295" and its end */

/* The namespace of our version 5 uuids. Never to be changed: what older versions made would no longer be ours. */
static const uuid_t our_uuids = {0x8d, 0x2a, 0x6b, 0x5e, 0x41, 0xc3, 0x4f, 0x0a,
                                 0x9b, 0x17, 0xd0, 0x6e, 0x3c, 0x58, 0x72, 0xf4};

void hm_owner_set_cluster(struct hm_owner *owner, const char *cluster)
{
    snprintf(owner->cluster, sizeof(owner->cluster), "%.*s", HM_OWNER_CLUSTER, cluster && *cluster ? cluster : "-");
    for (char *byte = owner->cluster; *byte; byte++)
        if (!isascii(*byte) || (!isalnum(*byte) && !strchr("-_.", *byte)))
            *byte = '_';
}

void hm_owner_write(const struct hm_owner *owner, char name[HM_OWNER_NAME], uuid_t uuid)
{
    snprintf(name, HM_OWNER_NAME, PREFIX "%s:%u.%u.%u", owner->cluster, owner->job_id, owner->restart, owner->socket);
    uuid_generate_sha1(uuid, our_uuids, name, strlen(name));
}

int hm_owner_read(const char *name, const uuid_t uuid, struct hm_owner *owner)
{
    char again[HM_OWNER_NAME];
    uuid_t expected;
    int end = -1;
    *owner = (struct hm_owner){0};
    int found = sscanf(name, PREFIX "%28[^:]:%10u.%10u.%10u%n", owner->cluster, &owner->job_id, &owner->restart,
                       &owner->socket, &end);
    if (found == 4 && end >= 0 && name[end] == '\0' && owner->socket < HM_MAX_SOCKETS) {
        /* Only the one way to write it is ours: sscanf takes signs, zeros and what overflows. */
        hm_owner_write(owner, again, expected);
        if (strcmp(again, name) == 0 && uuid_compare(expected, uuid) == 0)
            return 0;
    }
    errno = EINVAL;
    return -1;
}

bool hm_owner_is_of_cluster(const struct hm_owner *owner, const char *cluster)
{
    struct hm_owner wanted;
    if (!cluster)
        return true;
    hm_owner_set_cluster(&wanted, cluster);
    return strcmp(wanted.cluster, owner->cluster) == 0;
}

bool hm_owner_is_of_job(const struct hm_owner *owner, const char *cluster, uint32_t job_id, uint32_t restart)
{
    return owner->job_id == job_id && owner->restart == restart && hm_owner_is_of_cluster(owner, cluster);
}

/* Take the next word off the list. Returns 1, 0 at the end, or -1 where it is not of the form; `word` then has it. */
static int next_word(const char **list, uint64_t *job_id, uint64_t *restart, char word[MOST_WORD])
{
    const char *start = *list + strspn(*list, BETWEEN);
    size_t length = strcspn(start, BETWEEN);
    snprintf(word, MOST_WORD, "%.*s", (int)(length < MOST_WORD ? length : MOST_WORD), start);
    *list = start + length;
    if (length == 0)
        return 0;
    char copy[MOST_WORD];
    memcpy(copy, word, sizeof(copy));
    char *dot = strchr(copy, '.');
    if (length >= MOST_WORD || !dot)
        return -1;
    *dot = '\0';
    return hm_size_parse_number(copy, 1, UINT32_MAX, job_id, NULL) == 0 &&
                   hm_size_parse_number(dot + 1, 0, UINT32_MAX, restart, NULL) == 0
               ? 1
               : -1;
}

int hm_living_check(const char *list, struct hm_error *error)
{
    uint64_t job_id, restart;
    char word[MOST_WORD];
    int result;
    do
        result = next_word(&list, &job_id, &restart, word);
    while (result > 0);
    return result == 0 ? 0 : hm_fail(error, EINVAL, "\"%s\" is not JOB.RESTART, as \"1234.0\"", word);
}

bool hm_living_has(const char *list, const struct hm_owner *owner)
{
    uint64_t job_id, restart;
    char word[MOST_WORD];
    while (next_word(&list, &job_id, &restart, word) > 0)
        if (job_id == owner->job_id && restart == owner->restart)
            return true;
    return false;
}
