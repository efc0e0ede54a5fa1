/* SPDX-License-Identifier: Apache-2.0 */
#include "changes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/files.h"
#include "base/size.h"
#include "core/apply/policy.h"
#include "job/ledger/others.h"
#include "job/ledger/table.h"

#define WATERMARK "/proc/sys/vm/watermark_scale_factor"
#define WATERMARK_UNIT 10000 /* watermark_scale_factor counts in 1/10000 of a zone */
#define WATERMARK_LEAST 10   /* the kernel's default */
#define WATERMARK_MOST 1000  /* the most that older kernels accept */

static int want(struct hm_wanted *wanted, int count, int room, const char *path, unsigned long value)
{
    if (count >= room)
        return count;
    memset(&wanted[count], 0, sizeof(wanted[count]));
    hm_text_copy(wanted[count].path, path, sizeof(wanted[count].path));
    snprintf(wanted[count].value, sizeof(wanted[count].value), "%lu", value);
    return count + 1;
}

static int want_weights(const struct hm_plan *plan, const struct hm_tiers *tiers, struct hm_wanted *wanted, int room)
{
    char path[96], text[16];
    int count = 0;
    /*
     * If "auto" is "false" already, it is listed all the same: where another job has set it, it then stays "false"
     * while any job that shares the weights lives.
     */
    if (hm_file_read(HM_WEIGHTS_AUTO, text, sizeof(text), NULL) == 0 &&
        (plan->must_set_weights || strcmp(text, "true") != 0)) {
        count = want(wanted, count, room, HM_WEIGHTS_AUTO, 0);
        hm_text_copy(wanted[0].value, "false", sizeof(wanted[0].value));
    }
    for (int i = 0; i < tiers->topology.n_nodes; i++) {
        if (plan->weights[i] == 0)
            continue;
        hm_policy_weight_path(tiers->topology.node[i].id, path, sizeof(path));
        count = want(wanted, count, room, path, plan->weights[i]);
    }
    return count;
}

/*
 * The watermark_scale_factor that keeps `reserve` bytes of the fast tier free. Users' pages go to the next node when a
 * zone's free memory falls to its low watermark; the kernel's own pages may go down to the min watermark. The distance
 * between the two watermarks is what stays free for page tables and the like.
 */
static unsigned long watermark_for(uint64_t reserve, uint64_t capacity)
{
    double value = (double)reserve / (double)capacity * WATERMARK_UNIT + 0.999;
    if (value < WATERMARK_LEAST)
        return WATERMARK_LEAST;
    return value > WATERMARK_MOST ? WATERMARK_MOST : (unsigned long)value;
}

int hm_changes_wanted(const struct hm_plan *plan, const struct hm_tiers *tiers, struct hm_wanted *wanted, int room)
{
    int count = plan->has_weights ? want_weights(plan, tiers, wanted, room) : 0;
    uint64_t capacity = tiers->n_tiers > 0 ? tiers->tier[0].capacity_bytes : 0;
    if (plan->reserve_bytes == 0 || capacity == 0 || count >= room)
        return count;
    int end = want(wanted, count, room, WATERMARK, watermark_for(plan->reserve_bytes, capacity));
    wanted[count].only_raise = true;
    return end;
}

/* The last row of the setting. */
static const struct hm_change *find(const struct hm_job *job, const char *path)
{
    for (uint32_t i = job->n_changes; i-- > 0;)
        if (strcmp(job->change[i].path, path) == 0)
            return &job->change[i];
    return NULL;
}

static struct hm_change *find_own(struct hm_job *job, const char *path)
{
    const struct hm_change *found = find(job, path);
    return found ? &job->change[found - job->change] : NULL;
}

/* Adds a row. Returns NULL where there is no room. */
static struct hm_change *add(struct hm_job *job, const struct hm_change *change)
{
    if (job->n_changes == HM_JOB_CHANGES)
        return NULL;
    job->change[job->n_changes] = *change;
    return &job->change[job->n_changes++];
}

/* Removes all rows of this setting except `last`, which has the value that is set. */
static void keep_last(struct hm_job *job, const struct hm_change *last)
{
    uint32_t n = 0;
    const struct hm_change of = *last;
    for (uint32_t i = 0; i < job->n_changes; i++)
        if (&job->change[i] == last || strcmp(job->change[i].path, of.path) != 0)
            job->change[n++] = job->change[i];
    job->n_changes = n;
}

static uint64_t number_of(const char *text)
{
    uint64_t number = 0;
    return hm_size_parse_number(text, 0, UINT64_MAX, &number, NULL) == 0 ? number : 0;
}

/*
 * Did reading an entry fail only for want of memory or descriptors? Then another process may be able to read the entry.
 */
static bool is_for_want_of_room(int number)
{
    return number == ENOMEM || number == EMFILE || number == ENFILE;
}

/* The changes of other jobs, to settings that this job has changed or wants to change. */
struct others {
    int n, number; /* number: errno where they cannot be told now; 0: they are told */
    struct {
        const char *path;
        bool is_shared;
        struct hm_change change; /* that with the largest value */
    } of[HM_JOB_CHANGES];
};

static const struct hm_field part_table[] = {
    HM_FIELD(hm_job, job_id),
    HM_FIELD(hm_job, n_changes),
    HM_FIELD_GROUPS(hm_job, change, hm_change_table, HM_COUNTED_BY(hm_job, n_changes)),
    {.name = NULL},
};
static const struct hm_fields part = {.title = "job", .table = part_table, .most = HM_ENTRY_MOST};

/* Entries that nobody can read are passed over. */
static bool look(void *data, uint32_t id, const struct hm_job *other)
{
    struct others *others = data;
    (void)id;
    if (!other) {
        others->number = is_for_want_of_room(errno) ? errno : 0;
        return others->number == 0;
    }
    for (int i = 0; i < others->n && other->n_changes > 0; i++) {
        const struct hm_change *theirs = find(other, others->of[i].path);
        if (!theirs || (others->of[i].is_shared && number_of(theirs->after) <= number_of(others->of[i].change.after)))
            continue;
        others->of[i].change = *theirs;
        others->of[i].is_shared = true;
    }
    return true;
}

/*
 * Looks at all other entries once, for all settings. Where that fails for want of room, the caller must neither take a
 * setting's value for the site's own nor restore it.
 */
static void look_at_others(const struct hm_config *config, uint32_t job_id, struct others *others)
{
    if (others->n > 0 && hm_ledger_visit_others(config, job_id, &part, look, others, NULL) != 0)
        others->number = errno;
}

static void ask_for(struct others *others, const char *path)
{
    others->of[others->n].is_shared = false;
    others->of[others->n++].path = path;
}

/* Finds the change of another job to this setting. Returns NULL where there is none. */
static const struct hm_change *find_other(const struct others *others, const char *path)
{
    for (int i = 0; i < others->n; i++)
        if (others->of[i].is_shared && strcmp(others->of[i].path, path) == 0)
            return &others->of[i].change;
    return NULL;
}

static int fail_others(const struct others *others, struct hm_error *error)
{
    return hm_fail(error, others->number, "what other jobs have changed is not known: %s", strerror(others->number));
}

/* Enters one change into the job's entry. Returns 1 if the setting has to be written, 0 if not, -1 on an error. */
static int enter(struct hm_job *job, const struct others *others, const struct hm_wanted *wanted,
                 struct hm_error *error)
{
    char now[16];
    if (hm_file_read(wanted->path, now, sizeof(now), error) != 0)
        return -1;
    bool serves = strcmp(now, wanted->value) == 0 || (wanted->only_raise && number_of(now) >= number_of(wanted->value));
    struct hm_change *mine = find_own(job, wanted->path);
    if (!mine) {
        const struct hm_change *theirs = find_other(others, wanted->path);
        if (others->number)
            return fail_others(others, error);
        if (serves && !theirs)
            return 0; /* the site's own value */
        struct hm_change fresh = {0};
        hm_text_copy(fresh.path, wanted->path, sizeof(fresh.path));
        hm_text_copy(fresh.before, theirs ? theirs->before : now, sizeof(fresh.before));
        mine = add(job, &fresh);
    } else if (serves && wanted->only_raise && number_of(mine->after) >= number_of(wanted->value)) {
        return 0; /* an earlier step of the job has raised it enough, and that change is in the entry */
    } else if (!serves && strcmp(now, mine->after) == 0) {
        /* Setting the new value may fail, so the row with the present value stays, and the new one gets another row. */
        const struct hm_change last = *mine;
        keep_last(job, mine);
        mine = add(job, &last);
    }
    if (!mine)
        return hm_fail(error, ENOSPC, "job %u: %s is not changed: the job's entry in the ledger is full", job->job_id,
                       wanted->path);
    hm_text_copy(mine->after, wanted->value, sizeof(mine->after));
    return serves ? 0 : 1;
}

int hm_changes_apply(const struct hm_config *config, struct hm_job *job, const struct hm_wanted *wanted, int count,
                     struct hm_error *error)
{
    bool must_write[HM_JOB_CHANGES] = {false};
    struct others others = {.n = 0};
    if (count > HM_JOB_CHANGES)
        return hm_fail(error, ENOSPC, "job %u: %d changes, there is room for %d", job->job_id, count, HM_JOB_CHANGES);
    for (int i = 0; i < count; i++)
        if (!find(job, wanted[i].path))
            ask_for(&others, wanted[i].path);
    look_at_others(config, job->job_id, &others);
    for (int i = 0; i < count; i++) {
        int entered = enter(job, &others, &wanted[i], error);
        if (entered < 0)
            return -1;
        must_write[i] = entered > 0;
    }
    if (hm_ledger_write(config, job, error) != 0)
        return -1;
    for (int i = 0; i < count; i++)
        if (must_write[i] && hm_file_write(wanted[i].path, wanted[i].value, error) != 0)
            return -1;
    return 0;
}

/* Has the setting the value that this change gave it? Otherwise the change was never made, was taken back, was raised
 * for another job, or the site has changed it. Returns 1, 0, or -1 where it cannot be read. */
static int is_set(const struct hm_change *change, struct hm_error *error)
{
    char now[16];
    if (hm_file_read(change->path, now, sizeof(now), error) != 0)
        return errno == ENOENT ? 0 : -1; /* ENOENT: the memory node is gone, and its weight with it */
    return strcmp(now, change->after) == 0;
}

static int undo(const struct hm_change *change, const struct others *others, struct hm_error *error)
{
    const struct hm_change *theirs = find_other(others, change->path);
    int has_value = is_set(change, error);
    if (has_value <= 0)
        return has_value;
    if (others->number)
        return fail_others(others, error);
    const char *value = theirs ? theirs->after : change->before;
    return strcmp(change->after, value) == 0 ? 0 : hm_file_write(change->path, value, error);
}

int hm_changes_undo(const struct hm_config *config, struct hm_job *job, struct hm_error *error)
{
    uint32_t failed = 0;
    bool is_undone[HM_JOB_CHANGES];
    struct others others = {.n = 0};
    for (uint32_t i = 0; i < job->n_changes; i++)
        if (is_set(&job->change[i], NULL) > 0)
            ask_for(&others, job->change[i].path);
    look_at_others(config, job->job_id, &others);
    /* In reverse order: the kernel's automatic weights come back after all weights were restored. */
    for (uint32_t i = job->n_changes; i-- > 0;)
        is_undone[i] = undo(&job->change[i], &others, error) == 0;
    /* What could not be undone stays in the entry, for the next reap. */
    for (uint32_t i = 0; i < job->n_changes; i++)
        if (!is_undone[i])
            job->change[failed++] = job->change[i];
    job->n_changes = failed;
    return failed ? -1 : 0;
}
