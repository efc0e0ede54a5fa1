/* SPDX-License-Identifier: Apache-2.0 */
#include "blocks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/clock.h"
#include "sites/profile/slices.h"

#define CHUNK 4096                  /* blocks by which the file grows */
#define SLOTS (2 * HM_SITES_BLOCKS) /* of the index; a power of two */
#define TRIES 100                   /* of a call that signals interrupt */
#define PAUSE_NS UINT64_C(1000000000)
#define WHOLE (sizeof(struct hm_sites_process) + HM_SITES_BLOCKS * sizeof(struct hm_sites_block))

static struct hm_sites_process *process;
static char file[PATH_MAX];
static uint32_t room; /* blocks for which the file has disk space: a store elsewhere could be a SIGBUS */

/* Index: a block's number + 1 by its address, with IS_MAPPING where it is one; 0: free. Linear probing. */
static uint32_t *slot;
#define IS_MAPPING (UINT32_C(1) << 31)
static uint32_t *spare; /* numbers of blocks that have ended */
static uint32_t n_spare;

/* The process's own mappings, by address: none has a part of another. Unlike the file, the program cannot write them.
 */
static struct mapping {
    uintptr_t start, stop;
    uint32_t number;
} mapping[HM_SITES_MAPPINGS];
static unsigned n_mappings;

static uint64_t ordered_bytes[HM_SITES_ENTRIES]; /* that this process has allocated at each site */

struct hm_sites_process *hm_blocks_process(void)
{
    return process;
}

static void *map_private(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static uint64_t file_bytes(uint32_t n)
{
    return sizeof(*process) + n * sizeof(struct hm_sites_block);
}

/* Gives the open file disk space for `n` blocks, of which it has that of the first `from` bytes. A file above the
 * program's limit would be the signal SIGXFSZ. */
static bool reserve(int fd, uint64_t from, uint32_t n)
{
    struct rlimit limit;
    uint64_t bytes = file_bytes(n);
    int status = getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < bytes ? EFBIG : EINTR;
    for (int i = 0; i < TRIES && status == EINTR; i++) /* a program may have timers */
        status = posix_fallocate(fd, (off_t)from, (off_t)(bytes - from));
    if (status != 0)
        return false;
    room = n;
    return true;
}

bool hm_blocks_open(int fd, const char *path, pid_t pid)
{
    const struct hm_sites_process *before = process;
    uint32_t n = before ? atomic_load(&before->n_blocks) : 0;
    snprintf(file, sizeof(file), "%s", path);
    if (!slot)
        slot = map_private(SLOTS * sizeof(*slot));
    if (!spare)
        spare = map_private(HM_SITES_BLOCKS * sizeof(*spare));
    if (!slot || !spare || !reserve(fd, 0, (n / CHUNK + 1) * CHUNK))
        return false;
    void *memory = mmap(NULL, WHOLE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return false;
    process = memory;
    process->pid = pid;
    for (uint32_t i = 0; i < n; i++) {
        process->block[i] = before->block[i];
        process->block[i].is_inherited = 1;
        process->block[i].is_fast = 0; /* the other process gives it back */
    }
    atomic_store(&process->n_blocks, n);
    process->magic = HM_SITES_MAGIC;
    if (before)
        munmap((void *)(uintptr_t)before, WHOLE);
    return true;
}

/* Where the disk is full, it is tried once a second, not at each allocation: all threads wait meanwhile. */
static bool grow(void)
{
    static uint64_t failed_ns; /* 0: it has not, or has not since */
    uint64_t now_ns = hm_clock_ns(CLOCK_MONOTONIC);
    if (room >= HM_SITES_BLOCKS || (failed_ns > 0 && now_ns - failed_ns < PAUSE_NS))
        return false;
    int fd = open(file, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    bool is_done = fd >= 0 && reserve(fd, file_bytes(room), room + CHUNK);
    if (fd >= 0)
        close(fd);
    failed_ns = is_done ? 0 : now_ns;
    return is_done;
}

/* ---------------------------------------------------------- index */

static uint32_t home_of(uintptr_t address)
{
    return (uint32_t)((uint64_t)address * UINT64_C(0x9e3779b97f4a7c15) >> 40) & (SLOTS - 1);
}

static uintptr_t address_of(uint32_t number)
{
    return atomic_load_explicit(&process->block[number].address, memory_order_relaxed);
}

/* The number of the block that a slot has. */
static uint32_t number_in(uint32_t at)
{
    return (slot[at] & ~IS_MAPPING) - 1;
}

/* The slot of the address, or the free one where it would be. */
static uint32_t find(uintptr_t address)
{
    uint32_t at = home_of(address);
    while (slot[at] && address_of(number_in(at)) != address)
        at = (at + 1) & (SLOTS - 1);
    return at;
}

/* Frees a slot, and moves those behind it up that would not be found any more. */
static void clear_slot(uint32_t at)
{
    slot[at] = 0;
    for (uint32_t next = (at + 1) & (SLOTS - 1); slot[next]; next = (next + 1) & (SLOTS - 1)) {
        uint32_t home = home_of(address_of(number_in(next)));
        if (((next - home) & (SLOTS - 1)) < ((next - at) & (SLOTS - 1)))
            continue;
        slot[at] = slot[next];
        slot[next] = 0;
        at = next;
    }
}

/* ---------------------------------------------------------- mappings */

/* The first mapping that ends behind the address. */
static unsigned first_behind(uintptr_t address)
{
    unsigned low = 0, high = n_mappings;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        if (mapping[middle].stop <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void insert_mapping(const struct mapping *new)
{
    unsigned at = first_behind(new->start);
    memmove(&mapping[at + 1], &mapping[at], (n_mappings++ - at) * sizeof(*mapping));
    mapping[at] = *new;
}

static void remove_mapping(unsigned at)
{
    memmove(&mapping[at], &mapping[at + 1], (--n_mappings - at) * sizeof(*mapping));
}

/* ---------------------------------------------------------- blocks */

static void set_address(struct hm_sites_block *block, uintptr_t address)
{
    atomic_store_explicit(&block->address, address, memory_order_release);
    atomic_fetch_add_explicit(&process->changes, 1, memory_order_relaxed);
}

static struct hm_blocks_part part_of(const struct hm_sites_block *block, uintptr_t address, uint64_t bytes,
                                     bool is_last)
{
    return (struct hm_blocks_part){.bytes = bytes,
                                   .address = address,
                                   .born_ns = block->born_ns,
                                   .before = block->before,
                                   .entry = block->entry,
                                   .is_inherited = block->is_inherited,
                                   .is_shared = block->is_shared,
                                   .is_placed = block->is_placed,
                                   .is_fast = block->is_fast,
                                   .is_last = is_last};
}

/* Forgets a block, whose slot is `at`; nothing where that is free, as a program may have written into its file. */
static struct hm_blocks_part end(uint32_t at)
{
    if (slot[at] == 0)
        return (struct hm_blocks_part){.bytes = 0};
    uint32_t number = number_in(at);
    uintptr_t address = address_of(number);
    unsigned known = slot[at] & IS_MAPPING ? first_behind(address) : n_mappings;
    struct hm_sites_block *block = &process->block[number];
    struct hm_blocks_part part = part_of(block, address, block->bytes, true);
    clear_slot(at);
    set_address(block, 0);
    spare[n_spare++] = number;
    if (known < n_mappings && mapping[known].number == number)
        remove_mapping(known);
    return part;
}

struct hm_blocks_part hm_blocks_drop(uintptr_t address)
{
    return end(find(address));
}

struct hm_blocks_part hm_blocks_drop_any(void)
{
    for (uint32_t n = atomic_load(&process->n_blocks); n > 0; n--) {
        uintptr_t address = address_of(n - 1);
        atomic_store(&process->n_blocks, n - 1); /* the block is the last one, so no other is lost */
        if (address != 0)
            return end(find(address));
    }
    return (struct hm_blocks_part){.entry = HM_SITES_ENTRIES};
}

/* Takes the next place in the order of a site's allocations. Large ones are in no order. */
static uint64_t place_in_order(uint32_t entry, uint64_t bytes)
{
    uint64_t before = ordered_bytes[entry];
    if (bytes >= HM_SLICES_LARGE)
        return 0;
    ordered_bytes[entry] += bytes;
    return before;
}

bool hm_blocks_add(const struct hm_blocks_new *new)
{
    uint32_t at = find(new->address), n = atomic_load(&process->n_blocks), number = n;
    if (new->is_mapping && n_mappings == HM_SITES_MAPPINGS)
        return false;
    if (n_spare > 0)
        number = spare[--n_spare];
    else if (n == room && !grow())
        return false;
    struct hm_sites_block *block = &process->block[number];
    block->bytes = new->bytes;
    block->born_ns = new->born_ns;
    block->before = new->was ? new->was->before : place_in_order(new->entry, new->bytes);
    block->entry = new->entry;
    block->is_placed = new->is_placed;
    block->is_fast = new->is_fast;
    block->is_inherited = new->is_inherited;
    block->is_shared = new->is_shared;
    if (number == n)
        atomic_store(&process->n_blocks, n + 1);
    set_address(block, new->address);
    slot[at] = (number + 1) | (new->is_mapping ? IS_MAPPING : 0);
    if (new->is_mapping)
        insert_mapping(&(const struct mapping){new->address, new->address + new->bytes, number});
    return true;
}

/* Gives a mapping another beginning. */
static void move_start(struct mapping *known, uintptr_t address)
{
    clear_slot(find(known->start));
    set_address(&process->block[known->number], address);
    slot[find(address)] = (known->number + 1) | IS_MAPPING;
    known->start = address;
}

/* What the range has of this mapping ends. */
static struct hm_blocks_part cut(struct mapping *known, uintptr_t address, uintptr_t after)
{
    struct hm_sites_block *block = &process->block[known->number];
    /* What is left is forgotten, too, where an allocation inside the mapping begins at the same address. */
    if (address <= known->start && (known->stop <= after || slot[find(after)]))
        return end(find(known->start));
    struct hm_blocks_part part = part_of(block, (uintptr_t)hm_most(known->start, address), 0, false);
    if (address <= known->start) {
        part.bytes = after - known->start;
        block->bytes = known->stop - after;
        move_start(known, after);
    } else {
        part.bytes = known->stop - address;
        block->bytes = address - known->start;
        known->stop = address;
    }
    return part;
}

struct hm_blocks_part hm_blocks_cut(uintptr_t address, uint64_t bytes)
{
    uintptr_t after = address + bytes;
    unsigned at = first_behind(address);
    while (bytes > 0 && at < n_mappings && mapping[at].start < after) {
        uint32_t place = find(mapping[at].start);
        if (slot[place] && number_in(place) == mapping[at].number)
            return cut(&mapping[at], address, after);
        remove_mapping(at); /* the program has written into its file */
    }
    return (struct hm_blocks_part){.bytes = 0};
}
