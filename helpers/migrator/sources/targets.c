/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the targets of perf events. If a whole cgroup may be watched, the source's events are opened once per CPU.
 * Otherwise they are opened on each thread (targetsthreads.c).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/perfopen.h"
#include "base/set.h"
#include "migrator/watch/descriptors.h"
#include "perfwatchparts.h"

#define ONLINE "/sys/devices/system/cpu/online"

/*
 * Bytes of data in a ring, by the number of rings: less than 64 MiB of locked memory in all with pages of 4 KiB. Each
 * ring has a page at least. With an AUX area for the samples, the ring says little; both have less than 96 MiB in all.
 * With pages of 64 KiB the least that is possible is far more, so the number of rings is bounded by their bytes.
 */
static const struct {
    size_t slots;
    size_t ring, small_ring, aux;
} ring_sizes[] = {{256, 64 << 10, 16 << 10, 64 << 10},
                  {1024, 16 << 10, 4 << 10, 16 << 10},
                  {HM_PERF_SLOTS, 4 << 10, 4 << 10, 8 << 10}};

/* Bytes of locked memory that a slot takes. */
static size_t bytes_of(const struct hm_perf_slot *slot)
{
    return slot->bytes + slot->aux.bytes;
}

void hm_perf_drop(struct hm_perf_watched *watch, size_t at)
{
    watch->locked_bytes -= bytes_of(watch->slot[at]);
    hm_perf_slot_close(watch->slot[at]);
    free(watch->slot[at]);
    watch->slot[at] = watch->slot[--watch->n];
}

/* Opens the events of a slot, or takes the one that was lent. Returns 0, or -1 with errno. */
static int open_slot(const struct hm_perf_watched *watch, const struct hm_perf_target *target,
                     struct hm_perf_slot *slot)
{
    unsigned size = 0;
    while (watch->n >= ring_sizes[size].slots && ring_sizes[size].slots < HM_PERF_SLOTS)
        size++;
    size_t ring = watch->plan.has_packets ? ring_sizes[size].small_ring : ring_sizes[size].ring;
    slot->pid = target->pid;
    slot->target = target->number;
    if (target->lent < 0)
        return hm_perf_slot_open(slot, watch->plan.attr, watch->plan.n_events, target->open_pid, target->cpu,
                                 target->flags, ring, watch->plan.has_packets ? ring_sizes[size].aux : 0);
    if (hm_perf_slot_adopt(slot, target->lent, ring) != 0)
        return -1;
    hm_perf_slot_set_period(slot, watch->budget.period);
    hm_perf_slot_enable(slot, !watch->plan.attr[0].disabled);
    return 0;
}

static bool may_keep(const struct hm_perf_slot *slot)
{
    for (int e = 0; e < HM_PERF_EVENTS; e++)
        if (slot->fd[e] >= 0 && !hm_descriptors_may_keep(slot->fd[e]))
            return false;
    return true;
}

int hm_perf_add(struct hm_perf_watched *watch, const struct hm_perf_target *target)
{
    bool has_room = watch->n < HM_PERF_SLOTS && watch->locked_bytes < HM_PERF_LOCKED;
    struct hm_perf_slot *slot = has_room ? calloc(1, sizeof(*slot)) : NULL;
    if (!slot) {
        if (target->lent >= 0)
            close(target->lent);
        errno = ENOSPC;
        return -1;
    }
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = slot};
    if (open_slot(watch, target, slot) != 0)
        goto failed;
    if (!may_keep(slot) || epoll_ctl(watch->source.fd, EPOLL_CTL_ADD, slot->fd[0], &event) != 0) {
        int number = errno;
        hm_perf_slot_close(slot);
        errno = number;
        goto failed;
    }
    watch->slot[watch->n++] = slot;
    watch->locked_bytes += bytes_of(slot);
    return 0;
failed:;
    int number = errno;
    free(slot);
    errno = number;
    return -1;
}

static int compare(const void *a, const void *b)
{
    const int *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

int *hm_perf_list_targets(const struct hm_perf_watched *watch)
{
    int *targets = malloc((watch->n + 1) * sizeof(*targets));
    for (size_t i = 0; targets && i < watch->n; i++)
        targets[i] = watch->slot[i]->target;
    if (targets)
        qsort(targets, watch->n, sizeof(*targets), compare);
    return targets;
}

bool hm_perf_visit_new(pid_t pid, const int *targets, size_t n, hm_perf_visit *visit, void *data)
{
    char path[64];
    bool goes_on = true;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *folder = opendir(path);
    if (!folder)
        return true; /* the process has ended */
    for (struct dirent *entry; goes_on && (entry = readdir(folder)) != NULL;) {
        int thread = atoi(entry->d_name);
        if (thread > 0 && !bsearch(&thread, targets, n, sizeof(thread), compare))
            goes_on = visit(data, pid, thread);
    }
    closedir(folder);
    return goes_on;
}

void hm_perf_drop_gone(struct hm_perf_watched *watch, const struct hm_ranks *ranks)
{
    for (size_t i = watch->n; i-- > 0;)
        if (hm_ranks_space(ranks, watch->slot[i]->pid) < 0)
            hm_perf_drop(watch, i);
}

/* The CPUs that a cgroup may use; all that are online if it does not say. */
static void read_cpus(const char *cgroup, struct hm_set *cpus)
{
    char path[sizeof(((struct hm_ranks *)NULL)->cgroup) + 32], text[4096];
    const char *files[] = {path, ONLINE};
    snprintf(path, sizeof(path), "%s/cpuset.cpus.effective", cgroup);
    hm_set_clear(cpus);
    for (int i = 0; i < 2 && hm_set_is_empty(cpus); i++) {
        if (hm_file_read_line(files[i], text, sizeof(text)) != 0 || hm_set_parse(cpus, text, NULL) != 0)
            hm_set_clear(cpus);
    }
}

/* Watches the cgroup on each of its CPUs. Returns 0, or -1 with errno if its folder cannot be opened or one CPU fails;
 * then none is watched. */
static int add_cgroup(struct hm_perf_watched *watch, const char *cgroup)
{
    struct hm_set cpus;
    int status = 0;
    int folder = open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return -1;
    read_cpus(cgroup, &cpus);
    for (int cpu = hm_set_next(&cpus, 0); cpu >= 0 && status == 0; cpu = hm_set_next(&cpus, (unsigned)cpu + 1)) {
        const struct hm_perf_target target = {
            .number = cpu, .open_pid = folder, .cpu = cpu, .flags = PERF_FLAG_PID_CGROUP, .lent = -1};
        status = hm_perf_add(watch, &target);
    }
    int number = errno;
    close(folder);
    while (status != 0 && watch->n > 0)
        hm_perf_drop(watch, watch->n - 1);
    errno = number;
    return status;
}

int hm_perf_watch_cgroup(struct hm_source *source, const char *cgroup)
{
    return add_cgroup((struct hm_perf_watched *)source, cgroup);
}

int hm_perf_update(struct hm_source *source, const struct hm_ranks *ranks, const struct hm_maps *maps,
                   struct hm_error *error)
{
    (void)maps;
    struct hm_perf_watched *watch = (struct hm_perf_watched *)source;
    if (watch->lent.broker[0])
        return hm_perf_update_lent(watch, ranks, error);
    if (watch->is_wide && ranks->cgroup[0] && (watch->n > 0 || add_cgroup(watch, ranks->cgroup) == 0))
        return 0;
    if (watch->is_wide) {
        watch->is_wide = false;
        snprintf(source->state.how, sizeof(source->state.how), "each thread by itself: %s",
                 ranks->cgroup[0] ? strerror(errno) : "there is no cgroup to watch");
    }
    return hm_perf_update_threads(watch, ranks, error);
}

void hm_perf_begin(struct hm_source *source, void *locator)
{
    struct hm_perf_watched *watch = (struct hm_perf_watched *)source;
    watch->locator = locator;
    watch->since_ns = hm_clock_ns(CLOCK_MONOTONIC);
    for (int e = 0; e < watch->plan.n_events; e++)
        watch->plan.attr[e].disabled = 0;
    for (size_t i = 0; i < watch->n; i++) {
        hm_perf_slot_drop(watch->slot[i]);
        hm_perf_slot_enable(watch->slot[i], true);
    }
}

void hm_perf_pause(struct hm_source *source)
{
    struct hm_perf_watched *watch = (struct hm_perf_watched *)source;
    for (size_t i = 0; i < watch->n; i++)
        hm_perf_slot_enable(watch->slot[i], false);
    if (watch->plan.end)
        watch->plan.end(watch->locator);
    watch->locator = NULL;
    watch->located_s = 0;
    watch->counts = (struct hm_ring_counts){0};
    watch->records = watch->throttled = watch->blind = 0;
    source->state.samples = source->state.lost = source->state.throttled = 0;
    if (source->state.kernel_cpu_s > 0)
        source->state.kernel_cpu_s = 0;
}
