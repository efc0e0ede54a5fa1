/* SPDX-License-Identifier: Apache-2.0 */
#include "watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/clock.h"
#include "folder.h"

#define MOST_BYTES (UINT64_C(1) << 56) /* no allocation is larger */
#define BATCH 256                      /* blocks that are read at a time */

/* ---------------------------------------------------------- open and close */

/* The table that a SIGBUS is awaited in: the program can make the file shorter at any time. */
static struct hm_sites_table *guarded;
static volatile sig_atomic_t is_torn;

/* Puts zeros in the table's place, and the access is repeated; anywhere else it is an error of this program. */
static void mend_table(int number, siginfo_t *info, void *unused)
{
    int before = errno;
    (void)unused;
    is_torn = 1;
    if ((uintptr_t)info->si_addr - (uintptr_t)guarded >= sizeof(*guarded) ||
        mmap(guarded, sizeof(*guarded), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
            MAP_FAILED)
        signal(number, SIG_DFL);
    errno = before;
}

static void guard_table(struct hm_sites_table *table)
{
    struct sigaction action = {.sa_sigaction = mend_table, .sa_flags = SA_SIGINFO};
    guarded = table;
    sigaction(SIGBUS, &action, NULL);
}

bool hm_watch_is_torn(void)
{
    return is_torn;
}

static int make_table(struct hm_watch *watch, uint64_t least_bytes, struct hm_error *error)
{
    char path[HM_SITES_PATH + sizeof(HM_SITES_TABLE)];
    snprintf(path, sizeof(path), "%s/" HM_SITES_TABLE, watch->folder);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return hm_fail_errno(error, "%s", path);
    int number = posix_fallocate(fd, 0, sizeof(*watch->table));
    void *memory = MAP_FAILED;
    if (number == 0) {
        memory = mmap(NULL, sizeof(*watch->table), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        number = errno;
    }
    close(fd);
    if (memory == MAP_FAILED)
        return hm_fail(error, number, "%s: %s", path, strerror(number));
    watch->table = memory;
    guard_table(watch->table);
    watch->table->least_bytes = least_bytes;
    watch->table->bytes = sizeof(*watch->table);
    watch->table->magic = HM_SITES_MAGIC;
    return 0;
}

int hm_watch_open(struct hm_watch *watch, uint64_t least_bytes, struct hm_error *error)
{
    *watch = (struct hm_watch){.least_bytes = least_bytes};
    watch->watched = calloc(HM_WATCH_PROCESSES, sizeof(*watch->watched));
    if (!watch->watched)
        return hm_fail(error, ENOMEM, "out of memory");
    watch->folder_fd = hm_folder_make(watch->folder, error);
    return watch->folder_fd >= 0 ? make_table(watch, least_bytes, error) : -1;
}

void hm_watch_begin(struct hm_watch *watch)
{
    watch->began_ns = watch->looked_ns = hm_clock_ns(CLOCK_MONOTONIC);
}

static void remove_file(const struct hm_watch *watch, const char *name)
{
    char path[HM_SITES_PATH + NAME_MAX + 2];
    snprintf(path, sizeof(path), "%s/%s", watch->folder, name);
    unlink(path);
}

/* Frees what is kept of a process. */
static void forget(struct hm_watch *watch, size_t at)
{
    struct hm_watched *watched = &watch->watched[at];
    remove_file(watch, watched->name);
    close(watched->fd);
    free(watched->now.range);
    free(watched->before.range);
    *watched = watch->watched[--watch->n];
}

void hm_watch_close(struct hm_watch *watch)
{
    while (watch->n > 0)
        forget(watch, watch->n - 1);
    if (watch->folder[0])
        hm_folder_remove(watch->folder, watch->folder_fd);
    if (watch->table) {
        signal(SIGBUS, SIG_DFL);
        munmap(watch->table, sizeof(*watch->table));
    }
    free(watch->watched);
    *watch = (struct hm_watch){.n = 0};
}

/* ---------------------------------------------------------- processes */

static bool is_known(const struct hm_watch *watch, const char *name)
{
    for (size_t i = 0; i < watch->n; i++)
        if (strcmp(watch->watched[i].name, name) == 0)
            return true;
    return false;
}

static void add(struct hm_watch *watch, const char *name)
{
    struct hm_watched *watched = &watch->watched[watch->n];
    char path[HM_SITES_PATH + NAME_MAX + 2];
    int pid, number, length = 0;
    if (watch->n == HM_WATCH_PROCESSES || strlen(name) >= sizeof(watched->name) ||
        sscanf(name, HM_SITES_PROCESS "%n", &pid, &number, &length) != 2 || name[length] || pid <= 0)
        return;
    snprintf(path, sizeof(path), "%s/%s", watch->folder, name);
    *watched = (struct hm_watched){.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
    if (watched->fd < 0)
        return;
    if (hm_process_identify(pid, &watched->process) != 0)
        watched->process = (struct hm_process){pid, 0}; /* it has ended */
    snprintf(watched->name, sizeof(watched->name), "%s", name);
    watch->n++;
}

static void find_new(struct hm_watch *watch)
{
    DIR *folder = opendir(watch->folder);
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] == 'p' && !is_known(watch, entry->d_name))
            add(watch, entry->d_name);
    if (folder)
        closedir(folder);
}

/* Reads the counters of small allocations of one process. */
static void count_small(const struct hm_watched *watched, uint64_t allocations[HM_SITES_CLASSES],
                        uint64_t live_bytes[HM_SITES_CLASSES])
{
    struct hm_sites_process head;
    if (pread(watched->fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head))
        return;
    for (unsigned c = 0; c < HM_SITES_CLASSES; c++) {
        uint64_t bytes = 0, freed = 0;
        for (unsigned s = 0; s < HM_SITES_SHARDS; s++) {
            allocations[c] += hm_least(head.small[s][c].allocations, MOST_BYTES);
            bytes += head.small[s][c].bytes;
            freed += head.small[s][c].freed_bytes;
        }
        /* More is freed than was allocated where a child of fork frees its parent's. */
        live_bytes[c] += hm_least(hm_less(bytes, freed), MOST_BYTES);
    }
}

static void add_double(_Atomic double *sum, double value)
{
    double old = atomic_load(sum);
    while (!atomic_compare_exchange_weak(sum, &old, old + value))
        ;
}

static void end_block(struct hm_watch *watch, const struct hm_sites_block *block, uint64_t now_ns)
{
    if (block->address == 0 || block->is_inherited || block->entry >= HM_SITES_ENTRIES || block->bytes > MOST_BYTES)
        return;
    struct hm_sites_entry *entry = &watch->table->entry[block->entry];
    double lived_s = (double)hm_less(now_ns, hm_most(block->born_ns, watch->began_ns)) / 1e9;
    atomic_fetch_sub(&entry->live_bytes, (int64_t)block->bytes);
    atomic_fetch_sub(&watch->table->live_bytes, (int64_t)block->bytes);
    if (block->is_fast)
        hm_sites_give_fast(watch->table, block->bytes);
    add_double(&entry->byte_s, (double)block->bytes * lived_s);
    add_double(&entry->lifetime_s, lived_s);
    atomic_fetch_add(&entry->ended, 1);
    atomic_store(&entry->ended_ns, (int64_t)hm_most((uint64_t)entry->ended_ns, now_ns));
}

/* What a process has still had ends now. */
static void end_blocks(struct hm_watch *watch, const struct hm_watched *watched, uint64_t now_ns)
{
    struct hm_sites_block block[BATCH];
    struct hm_sites_process head;
    if (pread(watched->fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head))
        return;
    for (uint32_t first = 0, n_blocks = head.n_blocks; first < n_blocks && first < HM_SITES_BLOCKS; first += BATCH) {
        size_t wanted = hm_least(n_blocks - first, BATCH);
        ssize_t got =
            pread(watched->fd, block, wanted * sizeof(*block), (off_t)(sizeof(head) + first * sizeof(*block)));
        for (size_t i = 0; got > 0 && i < (size_t)got / sizeof(*block); i++)
            end_block(watch, &block[i], now_ns);
        if (got < (ssize_t)sizeof(*block))
            return;
    }
}

static void end_process(struct hm_watch *watch, size_t at, uint64_t now_ns)
{
    uint64_t live_bytes[HM_SITES_CLASSES] = {0}, allocations[HM_SITES_CLASSES] = {0};
    end_blocks(watch, &watch->watched[at], now_ns);
    count_small(&watch->watched[at], allocations, live_bytes);
    for (unsigned c = 0; c < HM_SITES_CLASSES; c++)
        watch->class[c].allocations += allocations[c];
    forget(watch, at);
}

/* Has the process ended, or does it execute another program, which has a file of its own? */
static bool has_ended(const struct hm_watch *watch, size_t at)
{
    const struct hm_watched *watched = &watch->watched[at];
    int pid, number, other;
    if (!hm_process_is_running(&watched->process))
        return true;
    sscanf(watched->name, HM_SITES_PROCESS, &pid, &number);
    for (size_t i = 0; i < watch->n; i++)
        if (i != at && watch->watched[i].process.pid == watched->process.pid &&
            sscanf(watch->watched[i].name, HM_SITES_PROCESS, &pid, &other) == 2 && other > number)
            return true;
    return false;
}

/* Adds the time since the last look to the means, and notes peaks. */
static void count_classes(struct hm_watch *watch, uint64_t now_ns)
{
    uint64_t live_bytes[HM_SITES_CLASSES] = {0}, allocations[HM_SITES_CLASSES] = {0}, all = 0;
    double passed_s = (double)(now_ns - watch->looked_ns) / 1e9;
    for (size_t i = 0; i < watch->n; i++)
        count_small(&watch->watched[i], allocations, live_bytes);
    for (unsigned c = 0; c < HM_SITES_CLASSES; c++) {
        struct hm_watch_class *class = &watch->class[c];
        class->byte_s += (double)class->live_bytes * passed_s;
        class->live_bytes = live_bytes[c];
        class->peak_bytes = hm_most(class->peak_bytes, live_bytes[c]);
        all += live_bytes[c];
    }
    int64_t live = atomic_load(&watch->table->live_bytes), peak = atomic_load(&watch->table->peak_bytes);
    watch->peak_bytes = hm_most(watch->peak_bytes, all + (live > 0 ? (uint64_t)live : 0));
    watch->peak_bytes = hm_most(watch->peak_bytes, peak > 0 ? (uint64_t)peak : 0);
    watch->looked_ns = now_ns;
}

bool hm_watch_look(struct hm_watch *watch)
{
    uint64_t now_ns = hm_clock_ns(CLOCK_MONOTONIC), n_files = atomic_load(&watch->table->processes);
    bool has_changed = n_files != watch->n_files;
    watch->n_files = n_files;
    if (has_changed)
        find_new(watch);
    count_classes(watch, now_ns);
    for (size_t i = watch->n; i-- > 0;)
        if (has_ended(watch, i)) {
            end_process(watch, i, now_ns);
            has_changed = true;
        }
    return has_changed;
}

void hm_watch_end(struct hm_watch *watch)
{
    hm_watch_look(watch);
    while (watch->n > 0)
        end_process(watch, watch->n - 1, watch->looked_ns);
}
