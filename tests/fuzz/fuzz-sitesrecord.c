/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes what the recorder of hybridmem sites run reads: files that the library in the program writes, and that the
 * program itself can write, too. A table and the file of a process, both valid with changes. A hit of a page is shared
 * out in parts of at most one sample in all, and the profile is one that its own reader accepts.
 */
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "jsonline.h"
#include "patch.h"
#include "sites/record/watch.h"

#define BLOCKS 4
#define PID 7

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static union {
    struct hm_sites_process process;
    char bytes[sizeof(struct hm_sites_process) + BLOCKS * sizeof(struct hm_sites_block)];
} file;
static struct hm_sites_table table;
static struct hm_watch watch;
static struct hm_watched watched;

static void make_valid(void)
{
    /* nothing else is changed */
    memset(table.object, 0, sizeof(table.object[0]));
    memset(table.entry, 0, 2 * sizeof(table.entry[0]));
    table.object[0] = (struct hm_sites_object){.state = HM_SITES_FILLED, .id_length = 2, .path = "/a"};
    table.entry[1] = (struct hm_sites_entry){.id = 77,
                                             .state = HM_SITES_FILLED,
                                             .n_frames = 2,
                                             .allocations = 3,
                                             .peak_bytes = 8192,
                                             .byte_s = 5,
                                             .ended = 1};
    memset(file.bytes, 0, sizeof(file.bytes));
    file.process.magic = HM_SITES_MAGIC;
    file.process.n_blocks = BLOCKS;
    for (uint32_t i = 0; i < BLOCKS; i++) {
        file.process.block[i].address = 0x10000 + 0x800 * i;
        file.process.block[i].bytes = 0x1000;
        file.process.block[i].entry = i;
    }
}

/* What was counted at the sites of the blocks; at all sites it would take longer than all else. */
static void forget(void)
{
    watch.samples = watch.elsewhere = 0;
    for (uint32_t i = 0; i < BLOCKS; i++)
        if (file.process.block[i].entry < HM_SITES_ENTRIES)
            memset(&watch.heat[file.process.block[i].entry], 0, sizeof(watch.heat[0]));
}

static void check_hits(void)
{
    static const struct hm_watch_hit hits[] = {
        {.start = 0x10000, .end = 0x11000, .mapped = 0x1000, .reads = 1, .samples = 1},
        {.start = UINT64_MAX - 0xfff, .end = UINT64_MAX, .mapped = 0x1000, .writes = 1, .samples = 1},
        {.end = UINT64_MAX, .reads = 1, .samples = 1},
    };
    double samples = 0;
    for (size_t i = 0; i < sizeof(hits) / sizeof(hits[0]); i++)
        hm_watch_hit(&watch, PID, &hits[i]);
    for (int i = 0; i < HM_SITES_ENTRIES; i++)
        samples += watch.heat[i].samples;
    if (!(samples >= 0 && samples <= 3 + 1e-9) || !(watch.elsewhere >= -1e-9))
        abort();
}

static void check_profile(void)
{
    struct hm_profile *profile = calloc(1, sizeof(*profile));
    if (!profile || hm_watch_report(&watch, &(struct hm_watch_sampled){.is_known = true}, profile) != 0)
        abort();
    profile->command = strdup("a");
    profile->program = strdup("/a");
    profile->start = strdup("2026-11-28T08:00:00Z");
    json_t *json = hm_profile_json(profile);
    char *text = json ? json_dumps(json, 0) : NULL;
    if (!text || has_negative(json))
        abort();
    struct hm_error error = {""};
    struct hm_profile *again = hm_profile_parse("fuzz", text, strlen(text), &error);
    if (!again && !strstr(error.text, "stands twice"))
        abort();
    hm_profile_free(again);
    free(text);
    json_decref(json);
    hm_profile_free(profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    if (size < 2)
        return 0;
    if (fd < 0)
        fd = memfd_create("fuzz", MFD_CLOEXEC);
    make_valid();
    size_t half = size / 2;
    patch(&table.entry[0], 2 * sizeof(table.entry[0]), data, half / 2);
    patch(&table.object[0], sizeof(table.object[0]), data + half / 2, half - half / 2);
    /* the beginning and the blocks; the counters between them are mere sums */
    patch(file.bytes, sizeof(file.bytes), data + half, size - half);
    patch(file.process.block, BLOCKS * sizeof(file.process.block[0]), data + half, size - half);
    size_t length = sizeof(file.bytes) - data[0] % (BLOCKS * sizeof(file.process.block[0]));
    if (ftruncate(fd, 0) != 0 || pwrite(fd, file.bytes, length, 0) != (ssize_t)length)
        abort();
    watched = (struct hm_watched){.process = {.pid = PID}, .fd = fd};
    watch.table = &table;
    watch.least_bytes = 4096;
    watch.watched = &watched;
    watch.n = 1;
    watch.looked_ns = 1000000000;
    check_hits();
    if (data[1] % 4 == 0) /* it looks at the whole table, which takes long */
        check_profile();
    free(watched.now.range);
    free(watched.before.range);
    forget();
    return 0;
}
