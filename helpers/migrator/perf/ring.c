/* SPDX-License-Identifier: Apache-2.0 */
#include "ring.h"

#include <linux/perf_event.h>
#include <string.h>

#define WORD sizeof(uint64_t)
#define CHUNK_WORDS 4 /* of a record PERF_RECORD_AUX, its header included */
#define N_ROWS(table) (sizeof(table) / sizeof((table)[0]))

/* The word at `position`, a multiple of 8. It never wraps, as the ring's size is a multiple of 8, too. */
static uint64_t word_at(const struct hm_ring *ring, uint64_t position)
{
    uint64_t word;
    memcpy(&word, (const char *)ring->data + (position & (ring->size - 1)), WORD);
    return word;
}

/* Copies `n` words from `position` on: of those that wrap, the rest is at the ring's beginning. */
static void copy_words(const struct hm_ring *ring, uint64_t position, size_t n, uint64_t *out)
{
    uint64_t at = position & (ring->size - 1), left = (ring->size - at) / WORD;
    size_t first = n < left ? n : (size_t)left;
    memcpy(out, (const char *)ring->data + at, first * WORD);
    memcpy(out + first, ring->data, (n - first) * WORD);
}

static void take_ip(struct hm_ring_sample *sample, uint64_t word)
{
    sample->ip = word;
}

static void take_tid(struct hm_ring_sample *sample, uint64_t word)
{
    uint32_t half[2];
    memcpy(half, &word, WORD);
    sample->pid = half[0];
    sample->tid = half[1];
}

static void take_id(struct hm_ring_sample *sample, uint64_t word)
{
    sample->id = word;
}

static void take_address(struct hm_ring_sample *sample, uint64_t word)
{
    sample->address = word;
}

static void take_period(struct hm_ring_sample *sample, uint64_t word)
{
    sample->period = word;
}

static void take_data_src(struct hm_ring_sample *sample, uint64_t word)
{
    sample->data_src = word;
}

/* The fields in the order in which a sample has them. */
static const struct {
    uint64_t bit;
    void (*take)(struct hm_ring_sample *sample, uint64_t word); /* NULL: the field is skipped */
} fields[] = {
    {PERF_SAMPLE_IDENTIFIER, take_id}, {PERF_SAMPLE_IP, take_ip},        {PERF_SAMPLE_TID, take_tid},
    {PERF_SAMPLE_TIME, NULL},          {PERF_SAMPLE_ADDR, take_address}, {PERF_SAMPLE_ID, take_id},
    {PERF_SAMPLE_STREAM_ID, NULL},     {PERF_SAMPLE_CPU, NULL},          {PERF_SAMPLE_PERIOD, take_period},
    {PERF_SAMPLE_REGS_USER, NULL},     {PERF_SAMPLE_WEIGHT, NULL},       {PERF_SAMPLE_DATA_SRC, take_data_src},
    {PERF_SAMPLE_TRANSACTION, NULL},   {PERF_SAMPLE_PHYS_ADDR, NULL},
};

/*
 * Takes the registers, which follow a word that says of which kind they are: 0 is for a thread of the kernel, which has
 * none. Moves `position` past them. Returns false if there are less than there should be.
 */
static bool take_regs(const struct hm_ring *ring, uint64_t *position, uint64_t end, struct hm_ring_sample *sample)
{
    uint64_t kind = word_at(ring, *position);
    *position += WORD;
    if (kind == PERF_SAMPLE_REGS_ABI_NONE)
        return true;
    if (ring->n_regs > HM_RING_REGS || end - *position < ring->n_regs * WORD)
        return false;
    copy_words(ring, *position, ring->n_regs, sample->reg);
    *position += ring->n_regs * WORD;
    sample->has_regs = kind == PERF_SAMPLE_REGS_ABI_64;
    return true;
}

/* Parses the fields between `position` and `end`. Returns false if they are not exactly those of sample_type. */
static bool parse_sample(const struct hm_ring *ring, uint64_t position, uint64_t end, struct hm_ring_sample *sample)
{
    if (ring->sample_type & ~(uint64_t)HM_RING_SAMPLE_TYPES)
        return false;
    for (size_t i = 0; i < N_ROWS(fields); i++) {
        if (!(ring->sample_type & fields[i].bit))
            continue;
        if (position == end)
            return false;
        if (fields[i].bit == PERF_SAMPLE_REGS_USER) {
            if (!take_regs(ring, &position, end, sample))
                return false;
            continue;
        }
        if (fields[i].take)
            fields[i].take(sample, word_at(ring, position));
        position += WORD;
    }
    return position == end;
}

/*
 * Index of the word in the record with which the kernel says how many records it dropped; 0: this type of record has no
 * such word.
 */
static unsigned lost_word(uint32_t type)
{
    return type == PERF_RECORD_LOST ? 2 : type == PERF_RECORD_LOST_SAMPLES ? 1 : 0;
}

/* Counts a record that is not a sample. Returns false if it is too short. */
static bool count_record(const struct hm_ring *ring, uint64_t position, uint64_t size, uint32_t type,
                         struct hm_ring_counts *counts)
{
    unsigned lost = lost_word(type);
    if (lost && size < (lost + 1) * WORD)
        return false;
    if (lost)
        counts->lost += word_at(ring, position + lost * WORD);
    else if (type == PERF_RECORD_THROTTLE)
        counts->throttled++;
    else
        counts->others++;
    return true;
}

static bool is_sound_ring(const struct hm_ring *ring, uint64_t head, uint64_t tail)
{
    return ring->size >= WORD && (ring->size & (ring->size - 1)) == 0 && head - tail <= ring->size &&
           tail % WORD == 0 && head % WORD == 0;
}

/* Reads the header at `tail`. It is copied once: the ring is shared memory, and its bytes are never read twice. Returns
 * false if there is no sound record. */
static bool read_header(const struct hm_ring *ring, uint64_t head, uint64_t tail, struct perf_event_header *header)
{
    uint64_t word = word_at(ring, tail);
    memcpy(header, &word, WORD);
    return header->size >= WORD && header->size % WORD == 0 && header->size <= head - tail;
}

size_t hm_ring_read(const struct hm_ring *ring, uint64_t head, uint64_t *tail, struct hm_ring_sample *out, size_t room,
                    struct hm_ring_counts *counts)
{
    size_t taken = 0;
    bool is_sound = is_sound_ring(ring, head, *tail);

    while (is_sound && *tail != head && taken < room) {
        struct perf_event_header header;
        is_sound = read_header(ring, head, *tail, &header);
        if (is_sound && header.type == PERF_RECORD_SAMPLE) {
            out[taken] = (struct hm_ring_sample){.is_user = (header.misc & PERF_RECORD_MISC_CPUMODE_MASK) ==
                                                            PERF_RECORD_MISC_USER};
            is_sound = parse_sample(ring, *tail + WORD, *tail + header.size, &out[taken]);
            taken += is_sound;
        } else if (is_sound) {
            is_sound = count_record(ring, *tail, header.size, header.type, counts);
        }
        if (is_sound)
            *tail += header.size;
    }
    if (!is_sound) {
        counts->torn++;
        *tail = head;
    }
    counts->samples += taken;
    return taken;
}

bool hm_ring_read_chunk(const struct hm_ring *ring, uint64_t head, uint64_t *tail, struct hm_ring_chunk *chunk,
                        struct hm_ring_counts *counts)
{
    bool is_sound = is_sound_ring(ring, head, *tail), is_found = false;

    while (is_sound && *tail != head && !is_found) {
        struct perf_event_header header;
        is_sound = read_header(ring, head, *tail, &header);
        is_found = is_sound && header.type == PERF_RECORD_AUX && header.size >= CHUNK_WORDS * WORD;
        if (is_found)
            *chunk = (struct hm_ring_chunk){word_at(ring, *tail + WORD), word_at(ring, *tail + 2 * WORD),
                                            word_at(ring, *tail + 3 * WORD)};
        is_sound = is_sound && (is_found || header.type != PERF_RECORD_AUX) &&
                   count_record(ring, *tail, header.size, header.type, counts);
        if (is_sound)
            *tail += header.size;
    }
    if (!is_sound) {
        counts->torn++;
        *tail = head;
    }
    return is_found;
}
