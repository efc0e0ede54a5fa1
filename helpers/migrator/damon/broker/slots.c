/* SPDX-License-Identifier: Apache-2.0 */
#include "slots.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attribute.h"
#include "base/pagesize.h"
#include "sysfs.h"

/* limits for DAMON's number of regions: with these it never has to split or join pages */
#define LEAST_REGIONS 3
#define MOST_REGIONS (2 * HM_DAMON_MOST_PROBES)

static void forget(struct hm_damon_slots *slots)
{
    for (unsigned i = 0; i < slots->n; i++) {
        close(slots->file[i].start);
        close(slots->file[i].end);
    }
    slots->n = slots->n_targets = 0;
}

/* Lists the processes of the burst as targets. Returns their number. */
static unsigned list_targets(const struct hm_damon_burst *burst, const struct hm_damon_process *process,
                             struct hm_damon_slots *wanted)
{
    wanted->n_targets = 0;
    for (unsigned i = 0; i < burst->n; i++) {
        if (i == 0 || burst->probe[i].process != burst->probe[i - 1].process) {
            wanted->target[wanted->n_targets].pid = process[burst->probe[i].process].pid;
            wanted->target[wanted->n_targets++].n = 0;
        }
        wanted->target[wanted->n_targets - 1].n++;
    }
    return wanted->n_targets;
}

static bool are_alike(const struct hm_damon_slots *a, const struct hm_damon_slots *b)
{
    if (a->n_targets != b->n_targets)
        return false;
    for (unsigned t = 0; t < a->n_targets; t++)
        if (a->target[t].pid != b->target[t].pid || a->target[t].n != b->target[t].n)
            return false;
    return true;
}

static int open_slot(int regions, unsigned region, const char *file, struct hm_error *error)
{
    char name[32];
    snprintf(name, sizeof(name), "%u/%s", region, file);
    int fd = openat(regions, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    return fd >= 0 ? fd : hm_fail_errno(error, "cannot open a region's %s", file);
}

/* Makes the slots of target t, and opens them. */
static int make_slots(struct hm_damon_slots *slots, unsigned k, unsigned t, struct hm_error *error)
{
    char path[128];
    if (hm_damon_attribute_write(k, (uint64_t)slots->target[t].pid, error, "contexts/0/targets/%u/pid_target", t) !=
            0 ||
        hm_damon_attribute_write(k, slots->target[t].n, error, "contexts/0/targets/%u/regions/nr_regions", t) != 0)
        return -1;
    snprintf(path, sizeof(path), HM_DAMON_ROOT "/%u/contexts/0/targets/%u/regions", k, t);
    int regions = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW), result = 0;
    if (regions < 0)
        return hm_fail_errno(error, "cannot open %s", path);
    for (unsigned r = 0; r < slots->target[t].n && result == 0; r++) {
        int start = open_slot(regions, r, "start", error), end = start < 0 ? -1 : open_slot(regions, r, "end", error);
        if (end >= 0) {
            slots->file[slots->n].start = start;
            slots->file[slots->n++].end = end;
            continue;
        }
        if (start >= 0)
            close(start);
        result = -1;
    }
    close(regions);
    return result;
}

/* Makes the targets that the burst needs, unless they are there. */
static int fit(struct hm_damon_slots *slots, unsigned k, const struct hm_damon_burst *burst,
               const struct hm_damon_process *process, struct hm_error *error)
{
    static struct hm_damon_slots wanted;
    unsigned n = list_targets(burst, process, &wanted);
    if (are_alike(slots, &wanted))
        return 0;
    forget(slots);
    memcpy(slots->target, wanted.target, sizeof(slots->target));
    if (hm_damon_attribute_write(k, n, error, "contexts/0/targets/nr_targets") != 0)
        return -1;
    for (unsigned t = 0; t < n; t++)
        if (make_slots(slots, k, t, error) != 0)
            return -1;
    slots->n_targets = n;
    return 0;
}

static int write_address(int fd, uint64_t address, struct hm_error *error)
{
    char text[24];
    int length = snprintf(text, sizeof(text), "%llu", (unsigned long long)address);
    return pwrite(fd, text, (size_t)length, 0) == length ? 0 : hm_fail_errno(error, "cannot write a region's address");
}

static int write_pages(const struct hm_damon_slots *slots, const struct hm_damon_burst *burst, struct hm_error *error)
{
    for (unsigned i = 0; i < burst->n; i++)
        if (write_address(slots->file[i].start, burst->probe[i].page * hm_page_size(), error) != 0 ||
            write_address(slots->file[i].end, (burst->probe[i].page + 1) * hm_page_size(), error) != 0)
            return -1;
    return 0;
}

static int write_settings(unsigned k, const struct hm_damon_burst *burst, struct hm_error *error)
{
    const struct {
        const char *file;
        uint64_t value;
    } settings[] = {{"nr_regions/max", MOST_REGIONS},
                    {"nr_regions/min", LEAST_REGIONS},
                    {"intervals/sample_us", burst->look_us},
                    {"intervals/aggr_us", (uint64_t)burst->look_us * HM_DAMON_VISIT_LOOKS}};
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
        if (hm_damon_attribute_write(k, settings[i].value, error, HM_DAMON_ATTRIBUTES "/%s", settings[i].file) != 0)
            return -1;
    return 0;
}

pid_t hm_damon_slots_start(struct hm_damon_slots *slots, unsigned k, const struct hm_damon_owned *owned,
                           const struct hm_damon_burst *burst, const struct hm_damon_process *process,
                           struct hm_error *error)
{
    if (hm_damon_set_up(k, owned->mark, error) != 0 || write_settings(k, burst, error) != 0 ||
        fit(slots, k, burst, process, error) != 0 || write_pages(slots, burst, error) != 0)
        return -1;
    return hm_damon_turn_on(k, owned, error);
}

void hm_damon_slots_close(struct hm_damon_slots *slots, unsigned k, const struct hm_damon_owned *owned)
{
    hm_damon_stop(k, owned);
    forget(slots);
}
