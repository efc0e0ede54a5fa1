/* SPDX-License-Identifier: Apache-2.0 */
#include "blocks.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/size.h"

#define MOST_BLOCK (UINT64_C(1) << 32) /* largest number of a block */

uint64_t hm_blocks_size(const char *system, struct hm_error *error)
{
    char path[160], text[32], *end;
    snprintf(path, sizeof(path), "%.128s/memory/block_size_bytes", system);
    if (hm_file_read(path, text, sizeof(text), error) != 0)
        return 0;
    errno = 0;
    uint64_t bytes = strtoull(text, &end, 16);
    if (errno == 0 && *end == '\0' && bytes > 0 && (bytes & (bytes - 1)) == 0)
        return bytes;
    hm_fail(error, EINVAL, "%s says \"%.31s\": no size of memory blocks", path, text);
    return 0;
}

/* Count one block; a block that goes away meanwhile is not counted. */
static void count(const char *folder, const char *name, unsigned number, struct hm_blocks *blocks)
{
    char path[240], state[32], zone[64];
    snprintf(path, sizeof(path), "%.160s/%.24s/state", folder, name);
    if (hm_file_read(path, state, sizeof(state), NULL) != 0)
        return;
    blocks->n++;
    if (strcmp(state, "online") != 0)
        return;
    if (blocks->online == 0 || number < blocks->first_online)
        blocks->first_online = number;
    if (blocks->online == 0 || number > blocks->last_online)
        blocks->last_online = number;
    blocks->online++;
    snprintf(path, sizeof(path), "%.160s/%.24s/valid_zones", folder, name);
    bool is_movable = hm_file_read(path, zone, sizeof(zone), NULL) == 0 && strcmp(zone, "Movable") == 0;
    *(is_movable ? &blocks->movable : &blocks->normal) += 1;
}

/* A function for one block. Returns true to go on. */
typedef bool (*use_block)(const char *folder, const char *name, unsigned number, void *data);

static bool count_block(const char *folder, const char *name, unsigned number, void *data)
{
    count(folder, name, number, data);
    return true;
}

/* Call `use` for all blocks of the range. Returns 0, also where the node does not exist, or -1. */
static int use_each(const char *system, int node, uint64_t start, uint64_t bytes, uint64_t block_bytes, use_block use,
                    void *data, struct hm_error *error)
{
    char folder[160];
    struct dirent *item;
    uint64_t number;
    bool goes_on = true;
    snprintf(folder, sizeof(folder), "%.128s/node/node%d", system, node);
    DIR *names = opendir(folder);
    if (!names)
        return errno == ENOENT ? 0 : hm_fail_errno(error, "cannot read %s", folder);
    /* "memory<N>" is the block that begins at address N times the size of a block. */
    while (goes_on && (item = readdir(names)))
        if (strncmp(item->d_name, "memory", 6) == 0 &&
            hm_size_parse_number(item->d_name + 6, 0, MOST_BLOCK, &number, NULL) == 0 &&
            number * block_bytes >= start && (number + 1) * block_bytes <= start + bytes)
            goes_on = use(folder, item->d_name, (unsigned)number, data);
    closedir(names);
    return 0;
}

int hm_blocks_read(const char *system, int node, uint64_t start, uint64_t bytes, struct hm_blocks *blocks,
                   struct hm_error *error)
{
    *blocks = (struct hm_blocks){.bytes = hm_blocks_size(system, error)};
    if (blocks->bytes == 0)
        return -1;
    return use_each(system, node, start, bytes, blocks->bytes, count_block, blocks, error);
}

struct taking {
    bool with_last;
    unsigned last;
    int number; /* the first errno, or EINTR */
};

static bool take_block(const char *folder, const char *name, unsigned number, void *data)
{
    struct taking *taking = data;
    char path[240], state[32];
    snprintf(path, sizeof(path), "%.160s/%.24s/state", folder, name);
    if ((number == taking->last && !taking->with_last) || hm_file_read(path, state, sizeof(state), NULL) != 0 ||
        strcmp(state, "online") != 0 || hm_file_write(path, "offline", NULL) == 0)
        return true;
    if (taking->number == 0 || errno == EINTR)
        taking->number = errno;
    return errno != EINTR;
}

int hm_blocks_take_offline(const char *system, int node, uint64_t start, uint64_t bytes, bool with_last)
{
    struct hm_blocks blocks;
    if (hm_blocks_read(system, node, start, bytes, &blocks, NULL) != 0)
        return -1;
    struct taking taking = {.with_last = with_last, .last = blocks.last_online};
    if (use_each(system, node, start, bytes, blocks.bytes, take_block, &taking, NULL) != 0)
        return -1;
    errno = taking.number;
    return taking.number == 0 ? 0 : -1;
}
