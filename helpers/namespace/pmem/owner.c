/* SPDX-License-Identifier: Apache-2.0 */
#include "owner.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "core/topology/topology.h"

#define PREFIX "hybridmem:"
#define USER "u"
#define ANY "*"
#define BETWEEN ", \t\r\n"
#define MOST_WORD 24 /* "4294967295.4294967295" and its end */

/* The uuid from which hybridmem's version 5 uuids are made. It must never change, or namespaces made by older versions
 * would no longer be recognized. */
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
    bool is_job = owner->kind == HM_OWNER_JOB;
    snprintf(name, HM_OWNER_NAME, PREFIX "%s:%s%u.%u.%u", owner->cluster, is_job ? "" : USER,
             is_job ? owner->job_id : owner->uid, is_job ? owner->restart : owner->minute, owner->socket);
    uuid_generate_sha1(uuid, our_uuids, name, strlen(name));
}

int hm_owner_read(const char *name, const uuid_t uuid, struct hm_owner *owner)
{
    char again[HM_OWNER_NAME];
    uint32_t number[2] = {0};
    uuid_t expected;
    int at = -1, end = -1;
    *owner = (struct hm_owner){0};
    if (sscanf(name, PREFIX "%28[^:]:%n", owner->cluster, &at) == 1 && at >= 0) {
        owner->kind = name[at] == USER[0] ? HM_OWNER_USER : HM_OWNER_JOB;
        at += owner->kind == HM_OWNER_USER;
        if (sscanf(name + at, "%10u.%10u.%10u%n", &number[0], &number[1], &owner->socket, &end) != 3)
            end = -1;
    }
    if (owner->kind == HM_OWNER_USER) {
        owner->uid = number[0];
        owner->minute = number[1];
    } else {
        owner->job_id = number[0];
        owner->restart = number[1];
    }
    if (end >= 0 && name[at + end] == '\0' && owner->socket < HM_MAX_SOCKETS && owner->minute <= HM_OWNER_MINUTES) {
        /* Accept only the form that hm_owner_write writes: sscanf also accepts signs, leading zeros and overflow. */
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
    return owner->kind == HM_OWNER_JOB && owner->job_id == job_id && owner->restart == restart &&
           hm_owner_is_of_cluster(owner, cluster);
}

bool hm_owner_is_of_user(const struct hm_owner *owner, const char *cluster, uint32_t uid)
{
    return owner->kind == HM_OWNER_USER && owner->uid == uid && hm_owner_is_of_cluster(owner, cluster);
}

bool hm_owner_is_equal(const struct hm_owner *owner, const struct hm_owner *other)
{
    return owner->kind == other->kind && owner->job_id == other->job_id && owner->restart == other->restart &&
           owner->uid == other->uid && owner->minute == other->minute && owner->socket == other->socket &&
           strcmp(owner->cluster, other->cluster) == 0;
}

int64_t hm_owner_until(const struct hm_owner *owner, unsigned age_s)
{
    return (int64_t)owner->minute * 60 + age_s;
}

/* One word of a list of living jobs (owner.h), as it was read. */
struct living {
    enum hm_owner_kind kind;
    uint64_t id, restart; /* of the job; `id` is the uid for a user, who has no restart */
    bool is_any;          /* any restart of the job, or any user */
};

static bool is_any(const char *text)
{
    return strcmp(text, ANY) == 0;
}

static int read_word(const char *word, struct living *living)
{
    char copy[MOST_WORD];
    *living = (struct living){.kind = word[0] == USER[0] ? HM_OWNER_USER : HM_OWNER_JOB};
    living->is_any = living->kind == HM_OWNER_USER && is_any(word + 1);
    if (living->is_any)
        return 0;
    if (living->kind == HM_OWNER_USER)
        return hm_size_parse_number(word + 1, 0, UINT32_MAX - 1, &living->id, NULL);
    memcpy(copy, word, sizeof(copy));
    char *dot = strchr(copy, '.');
    if (!dot)
        return -1;
    *dot = '\0';
    living->is_any = is_any(dot + 1);
    if (hm_size_parse_number(copy, 1, UINT32_MAX, &living->id, NULL) != 0)
        return -1;
    return living->is_any ? 0 : hm_size_parse_number(dot + 1, 0, UINT32_MAX, &living->restart, NULL);
}

/* Take the next word from the list. Returns 1, 0 at the end, or -1 where the word has the wrong form. `word` gets the
 * word. */
static int next_word(const char **list, struct living *living, char word[MOST_WORD])
{
    const char *start = *list + strspn(*list, BETWEEN);
    size_t length = strcspn(start, BETWEEN);
    memset(word, 0, MOST_WORD);
    memcpy(word, start, length < MOST_WORD ? length : MOST_WORD - 1);
    *list = start + length;
    if (length == 0)
        return 0;
    return length < MOST_WORD && read_word(word, living) == 0 ? 1 : -1;
}

int hm_living_check(const char *list, struct hm_error *error)
{
    struct living living;
    char word[MOST_WORD];
    int result;
    do
        result = next_word(&list, &living, word);
    while (result > 0);
    return result == 0
               ? 0
               : hm_fail(error, EINVAL,
                         "\"%s\" is neither JOB.RESTART, as \"1234.0\" or \"1234.*\", nor u and a uid, as \"u1000\" or "
                         "\"u*\"",
                         word);
}

static bool is_meant(const struct living *living, const struct hm_owner *owner)
{
    if (living->kind != owner->kind)
        return false;
    if (living->kind == HM_OWNER_USER)
        return living->is_any || living->id == owner->uid;
    return living->id == owner->job_id && (living->is_any || living->restart == owner->restart);
}

bool hm_living_has(const char *list, const struct hm_owner *owner)
{
    struct living living;
    char word[MOST_WORD];
    while (next_word(&list, &living, word) > 0)
        if (is_meant(&living, owner))
            return true;
    return false;
}
