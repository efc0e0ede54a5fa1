/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of perf events' rings. The first bytes choose the ring's size, the form of its samples, the places
 * of head and tail, and the size of a batch; the rest is the ring's content. */
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "area.h"
#include "migrator/perf/ring.h"

#define ROOM 16

struct setting {
    uint8_t size_bits, room;
    uint16_t tail;  /* bytes */
    uint32_t there; /* bytes between tail and head */
    uint64_t sample_type;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct setting setting;
    struct hm_ring_counts counts = {0};
    struct hm_ring_sample sample[ROOM];
    if (size < sizeof(setting))
        return 0;
    memcpy(&setting, data, sizeof(setting));
    data += sizeof(setting);
    size -= sizeof(setting);

    size_t bytes;
    uint8_t *content = make_area(setting.size_bits, data, size, &bytes);
    if (!content)
        return 0;
    struct hm_ring ring = {content, bytes, setting.sample_type, setting.room};
    uint64_t tail = setting.tail, head = tail + setting.there, before;
    size_t room = 1 + setting.room % ROOM, taken, all = 0;
    do {
        before = tail;
        taken = hm_ring_read(&ring, head, &tail, sample, room, &counts);
        all += taken;
        /* tail never goes back or past head, and reading stops early only when the batch is full. */
        if (taken > room || tail - before > head - before || (taken < room && tail != head))
            abort();
    } while (taken == room);
    if (all != counts.samples || all > bytes / 8)
        abort();
    free(content);
    return 0;
}
