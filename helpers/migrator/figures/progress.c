/* SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fit.h"
#include "base/grown.h"

#define MOST_PROCESSES (1u << 22) /* the kernel's largest pid_max */
#define LEAST 1288                /* bytes of the structure in the first builds of version 2 */

_Static_assert(offsetof(struct hm_progress, warning) + sizeof(HM_MEMBER(hm_progress, warning)) ==
                   LEAST - 4, /* padding */
               "new members come at the end");

const char *hm_unmoved_name(enum hm_unmoved reason)
{
    static const char *const names[HM_UNMOVED_REASONS] = {"shared", "busy", "room", "denied", "other"};
    return reason < HM_UNMOVED_REASONS ? names[reason] : "other";
}

static bool is_printable(const void *text)
{
    for (const char *byte = text; *byte; byte++)
        if (*byte < 0x20 || *byte > 0x7e)
            return false;
    return true;
}

static double read_real(const void *value)
{
    double real;
    memcpy(&real, value, sizeof(real));
    return real;
}

static bool is_share_or_unknown(const void *value)
{
    return read_real(value) <= 1;
}

static bool is_share(const void *value)
{
    return read_real(value) >= 0 && read_real(value) <= 1;
}

static bool is_cpu(const void *value)
{
    return read_real(value) >= 0 && read_real(value) <= HM_PROGRESS_MOST_CPU_S;
}

static bool is_cpu_or_unknown(const void *value)
{
    return read_real(value) <= HM_PROGRESS_MOST_CPU_S;
}

static bool is_known_share(const void *value)
{
    return read_real(value) >= 0 && read_real(value) <= 1;
}

static bool is_traffic(const void *value)
{
    return read_real(value) >= 0 && read_real(value) <= HM_PROGRESS_MOST_TRAFFIC;
}

static const char *const states[] = {
    [HM_PROGRESS_STARTING] = "starting", [HM_PROGRESS_RUNNING] = "running", [HM_PROGRESS_ENDED] = "ended", NULL};

const struct hm_field hm_progress_table[] = {
    HM_FIELD(hm_progress, step_id),
    HM_FIELD_WORDS(hm_progress, state, states),
    HM_FIELD(hm_progress, algorithm, .is_right = is_printable),
    HM_FIELD(hm_progress, source, .is_right = is_printable),
    HM_FIELD(hm_progress, source_why, .is_right = is_printable),
    HM_FIELD(hm_progress, period),
    HM_FIELD(hm_progress, period_is_time, .most = 1),
    HM_FIELD(hm_progress, knows_writes, .most = 1),
    HM_FIELD(hm_progress, interval_ms),
    HM_FIELD(hm_progress, hot_by, .is_right = is_printable),
    HM_FIELD(hm_progress, phases),
    HM_FIELD(hm_progress, samples),
    HM_FIELD(hm_progress, lost),
    HM_FIELD(hm_progress, throttled),
    HM_FIELD(hm_progress, dropped),
    HM_FIELD(hm_progress, promoted_bytes),
    HM_FIELD(hm_progress, demoted_bytes),
    HM_FIELD_LIST(hm_progress, unmoved_bytes),
    HM_FIELD(hm_progress, capacity_bytes),
    HM_FIELD(hm_progress, above_cap_bytes),
    HM_FIELD(hm_progress, first_above_cap_bytes),
    HM_FIELD(hm_progress, cpu_s, .is_right = is_cpu),
    HM_FIELD(hm_progress, kernel_cpu_s, .is_right = is_cpu_or_unknown),
    HM_FIELD(hm_progress, fast_share, .is_right = is_share_or_unknown),
    HM_FIELD(hm_progress, last_fast_share, .is_right = is_share_or_unknown),
    HM_FIELD(hm_progress, best_share, .is_right = is_share_or_unknown),
    HM_FIELD(hm_progress, first_ns),
    HM_FIELD(hm_progress, last_ns),
    HM_FIELD(hm_progress, n_ranks, .most = MOST_PROCESSES),
    HM_FIELD(hm_progress, most_ranks, .most = MOST_PROCESSES),
    HM_FIELD(hm_progress, n_warnings),
    HM_FIELD_LIST(hm_progress, warning, HM_COUNTED_BY(hm_progress, n_warnings), .is_right = is_printable),
    HM_FIELD(hm_progress, share_bytes),
    HM_FIELD(hm_progress, least_share_bytes),
    HM_FIELD(hm_progress, balance_phases),
    HM_FIELD(hm_progress, balance_share, .is_right = is_known_share),
    HM_FIELD(hm_progress, fast_traffic, .is_right = is_traffic),
    HM_FIELD(hm_progress, slow_traffic, .is_right = is_traffic),
    HM_FIELD(hm_progress, traffic_source, .is_right = is_printable),
    HM_FIELD(hm_progress, balance_why, .is_right = is_printable),
    HM_FIELD(hm_progress, knows_heat, .most = 1),
    HM_FIELD_LIST(hm_progress, heat, .is_right = is_share),
    HM_FIELD_LIST(hm_progress, stuck, .is_right = is_share),
    HM_FIELD(hm_progress, above_cap_s, .is_right = is_cpu_or_unknown),
    HM_FIELD(hm_progress, allowed_s, .is_right = is_cpu_or_unknown),
    HM_FIELD(hm_progress, advance_s, .is_right = is_cpu_or_unknown),
    HM_FIELD(hm_progress, gain_s, .is_right = is_cpu_or_unknown),
    HM_FIELD(hm_progress, n_tier_shares, .most = HM_MAX_TIERS),
    HM_FIELD_LIST(hm_progress, tier_share, HM_COUNTED_BY(hm_progress, n_tier_shares), .is_right = is_share_or_unknown),
    {.name = NULL},
};

int hm_progress_check(const struct hm_progress *progress, struct hm_error *error)
{
    struct hm_error why = {0};
    if (progress->magic != HM_PROGRESS_MAGIC || progress->version != HM_PROGRESS_VERSION || progress->bytes < LEAST)
        return hm_fail(error, EBADMSG, "the migrator's figures are of another version, or are no figures at all");
    if (hm_fields_check(hm_progress_table, progress, &why) == 0)
        return 0;
    return hm_fail(error, EBADMSG, "the migrator's figures: %s", why.text);
}

void hm_progress_init(struct hm_progress *progress, uint32_t step_id)
{
    *progress = (struct hm_progress){
        .magic = HM_PROGRESS_MAGIC,
        .version = HM_PROGRESS_VERSION,
        .bytes = sizeof(*progress),
        .step_id = step_id,
        .state = HM_PROGRESS_STARTING,
        .kernel_cpu_s = -1,
        .fast_share = -1,
        .last_fast_share = -1,
        .best_share = -1,
        .above_cap_s = -1,
        .allowed_s = -1,
        .advance_s = -1,
        .gain_s = -1,
    };
}

void hm_progress_text(char *to, size_t size, const char *text)
{
    hm_fit(to, size, "%s", text);
    for (char *byte = to; *byte; byte++)
        if (*byte < 0x20 || *byte > 0x7e)
            *byte = '?';
}

void hm_progress_warn(struct hm_progress *progress, const char *text)
{
    char line[HM_WARNING];
    hm_progress_text(line, sizeof(line), text);
    for (uint32_t i = 0; i < progress->n_warnings; i++)
        if (strcmp(progress->warning[i], line) == 0)
            return;
    if (progress->n_warnings == HM_PROGRESS_WARNINGS)
        return;
    /* The count is raised last: this process may be killed at any moment, and the file is read as it is then. */
    memcpy(progress->warning[progress->n_warnings], line, sizeof(line));
    progress->n_warnings++;
}

int hm_progress_create(const char *path, uint32_t step_id, struct hm_error *error)
{
    struct hm_progress progress;
    hm_progress_init(&progress, step_id);
    return hm_grown_create(path, &progress, sizeof(progress), error);
}

struct hm_progress *hm_progress_map(int fd, struct hm_error *error)
{
    struct hm_progress fresh;
    struct hm_error why = {0};
    hm_progress_init(&fresh, 0);
    struct hm_progress *progress = hm_grown_map(fd, &fresh, sizeof(fresh), LEAST, &why);
    if (!progress) {
        hm_fail(error, errno, "descriptor %d is no progress file: %s", fd, why.text);
        return NULL;
    }
    if (hm_progress_check(progress, error) == 0)
        return progress;
    hm_progress_unmap(progress);
    errno = EBADMSG;
    return NULL;
}

void hm_progress_unmap(struct hm_progress *progress)
{
    if (progress)
        munmap(progress, sizeof(*progress));
}

int hm_progress_read(const char *path, struct hm_progress *progress, struct hm_error *error)
{
    struct hm_error why = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return hm_fail_errno(error, "cannot read %s", path);
    hm_progress_init(progress, 0);
    int result = hm_grown_read(fd, progress, sizeof(*progress), LEAST, &why);
    if (result != 0)
        hm_fail(error, errno, "%s is no progress file: %s", path, why.text);
    else
        result = hm_progress_check(progress, error);
    int number = errno;
    close(fd);
    errno = number;
    return result;
}
