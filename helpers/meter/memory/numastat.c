/* SPDX-License-Identifier: Apache-2.0 */
/* Parses memory.numa_stat and hugetlb.SIZE.numa_stat, and adds their bytes up by tier (cgroup.h). */
#include "cgroup.h"

#include <errno.h>
#include <string.h>

struct key {
    const char *name;
    size_t offset; /* offset of the member of struct hm_usage that the key is added to */
    unsigned need; /* bit of a key that must be there */
};

#define NEED_ANON 1u
#define NEED_FILE 2u

static const struct key keys[] = {
    {"anon", offsetof(struct hm_usage, anon), NEED_ANON},
    {"file", offsetof(struct hm_usage, file), NEED_FILE}, /* includes shmem */
    {"shmem", offsetof(struct hm_usage, shmem), 0},
    {"kernel_stack", offsetof(struct hm_usage, kernel), 0},
    {"pagetables", offsetof(struct hm_usage, kernel), 0},
    {"sec_pagetables", offsetof(struct hm_usage, kernel), 0},
    {"slab_reclaimable", offsetof(struct hm_usage, kernel), 0},
    {"slab_unreclaimable", offsetof(struct hm_usage, kernel), 0},
};

void hm_node_map_fill(struct hm_node_map *map, const struct hm_set *tier_nodes, uint32_t n_tiers)
{
    memset(map->tier, -1, sizeof(map->tier));
    for (uint32_t t = 0; t < n_tiers; t++)
        for (int node = hm_set_next(&tier_nodes[t], 0); node >= 0 && node < HM_CGROUP_NODES;
             node = hm_set_next(&tier_nodes[t], (unsigned)node + 1))
            map->tier[node] = (int8_t)t;
}

/* Read the digits at *text, before `end`, and move *text past them. */
static int take_number(const char **text, const char *end, uint64_t *number)
{
    const char *from = *text;
    for (*number = 0; *text < end && **text >= '0' && **text <= '9'; (*text)++)
        if (__builtin_mul_overflow(*number, 10, number) ||
            __builtin_add_overflow(*number, (uint64_t)(**text - '0'), number))
            return -1;
    return *text > from ? 0 : -1;
}

/* Parse " N0=123 N4=456" up to `end`: add each node's bytes to the member at `offset` of its tier's usage. */
static int add_nodes(const char *text, const char *end, const struct hm_node_map *map, size_t offset,
                     struct hm_usage usage[HM_MAX_TIERS], bool *outside)
{
    while (text < end) {
        uint64_t node, bytes;
        if (end - text < 2 || text[0] != ' ' || text[1] != 'N')
            return -1;
        text += 2;
        if (take_number(&text, end, &node) != 0 || text == end || *text++ != '=' ||
            take_number(&text, end, &bytes) != 0)
            return -1;
        int tier = node < HM_CGROUP_NODES ? map->tier[node] : -1;
        if (tier < 0) {
            *outside = *outside || bytes > 0;
            continue;
        }
        uint64_t *sum = (uint64_t *)(void *)((char *)&usage[tier] + offset);
        if (__builtin_add_overflow(*sum, bytes, sum))
            return -1;
    }
    return 0;
}

static const struct key *find_key(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (strlen(keys[i].name) == length && memcmp(keys[i].name, name, length) == 0)
            return &keys[i];
    return NULL;
}

int hm_numastat_parse(const char *text, size_t length, const struct hm_node_map *map,
                      struct hm_usage usage[HM_MAX_TIERS], bool *outside)
{
    struct hm_usage found[HM_MAX_TIERS] = {{0}};
    unsigned seen = 0;
    for (const char *end = text + length; text < end;) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        if (!stop)
            goto malformed;
        const char *space = memchr(text, ' ', (size_t)(stop - text));
        const struct key *key = find_key(text, (size_t)((space ? space : stop) - text));
        if (key && add_nodes(space ? space : stop, stop, map, key->offset, found, outside) != 0)
            goto malformed;
        seen |= key ? key->need : 0;
        text = stop + 1;
    }
    if (seen != (NEED_ANON | NEED_FILE))
        goto malformed;
    for (int t = 0; t < HM_MAX_TIERS; t++) {
        usage[t] = found[t];
        /* The kernel reads the two counters one after the other, so shmem may be larger for a moment. */
        usage[t].file -= found[t].shmem < found[t].file ? found[t].shmem : found[t].file;
    }
    return 0;
malformed:
    errno = EBADMSG;
    return -1;
}

int hm_hugetlb_parse(const char *text, size_t length, const struct hm_node_map *map,
                     struct hm_usage usage[HM_MAX_TIERS], bool *outside)
{
    static const char start[] = "total=";
    const char *end = length > 0 ? text + length - 1 : text;
    uint64_t total;
    struct hm_usage found[HM_MAX_TIERS];
    memcpy(found, usage, sizeof(found));
    if (length <= sizeof(start) || *end != '\n' || memcmp(text, start, sizeof(start) - 1) != 0)
        goto malformed;
    text += sizeof(start) - 1;
    if (take_number(&text, end, &total) != 0 ||
        add_nodes(text, end, map, offsetof(struct hm_usage, hugetlb), found, outside) != 0)
        goto malformed;
    memcpy(usage, found, sizeof(found));
    return 0;
malformed:
    errno = EBADMSG;
    return -1;
}
