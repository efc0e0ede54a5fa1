/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of AUX areas with SPE's packets. The first bytes choose the area's size, and the offset and size of
 * the chunk to read; the rest is the area's content. */
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "area.h"
#include "migrator/perf/auxarea.h"
#include "migrator/perf/spe.h"

#define MOST 4096       /* bytes of an area */
#define RECORD_LEAST 14 /* bytes of the shortest record that is given: operation, address, events of a byte, end */

struct setting {
    uint8_t size_bits, room;
    uint16_t offset;
    uint32_t size; /* of the chunk */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Is the address one that has been put together from 7 bytes and a sign? */
static void check_address(uint64_t address)
{
    uint64_t top = address >> 55;
    if (!address || (top != 0 && top != 0x1ff))
        abort();
}

/* Decodes the content at once; and again, one record at a time. Both have to give the same. */
static void decode_twice(const uint8_t *content, size_t bytes)
{
    static struct hm_spe_record all[MOST];
    struct hm_spe_counts whole = {0}, single = {0};
    struct hm_spe_record one;
    size_t at = 0, turn = 0;
    size_t n = hm_spe_decode(content, bytes, &at, all, MOST, &whole);
    if (at != bytes || n != whole.records || n * RECORD_LEAST > bytes)
        abort();
    for (size_t i = 0, found = 1; found; i++) {
        found = hm_spe_decode(content, bytes, &turn, &one, 1, &single);
        if (found != (i < n) || turn > bytes)
            abort();
        if (found && (one.address != all[i].address || one.is_store != all[i].is_store ||
                      one.latency != all[i].latency || one.is_user != all[i].is_user))
            abort();
        if (found)
            check_address(one.address);
    }
    if (turn != bytes || memcmp(&whole, &single, sizeof(whole)) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct setting setting;
    if (size < sizeof(setting))
        return 0;
    memcpy(&setting, data, sizeof(setting));
    data += sizeof(setting);
    size -= sizeof(setting);

    size_t bytes;
    uint8_t *content = make_area(setting.size_bits, data, size, &bytes);
    if (!content)
        return 0;
    decode_twice(content, bytes);

    struct perf_event_header header = {PERF_RECORD_AUX, 0, 32};
    uint64_t ring_data[4] = {0, setting.offset, setting.size, setting.room & 0x0f};
    memcpy(&ring_data[0], &header, sizeof(header));
    struct hm_ring ring = {.data = ring_data, .size = sizeof(ring_data), .sample_type = 0};
    struct hm_ring_counts counts = {0};
    struct hm_ring_sample sample[16];
    struct hm_aux aux = {.data = content, .bytes = bytes};
    size_t room = 1 + setting.room / 16, taken;
    uint64_t tail = 0;
    do {
        taken = hm_aux_read(&aux, &ring, sizeof(ring_data), &tail, sample, room, &counts);
        if (taken > room)
            abort();
        for (size_t i = 0; i < taken; i++)
            check_address(sample[i].address);
    } while (taken == room);
    /* Either the chunk was read to its end, or it was refused as a whole. */
    bool is_within = setting.size <= bytes && setting.offset <= bytes - setting.size;
    if (tail != sizeof(ring_data) || counts.others != 1 || counts.lost > 1 ||
        aux.tail != (is_within && setting.size ? setting.offset + setting.size : 0) || (!is_within && !counts.torn))
        abort();
    free(content);
    return 0;
}
