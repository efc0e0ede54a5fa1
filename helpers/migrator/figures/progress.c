/* SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_PROCESSES (1u << 22) /* the kernel's largest pid_max */
#define N_ROWS(table) (sizeof(table) / sizeof((table)[0]))

const char *hm_unmoved_name(enum hm_unmoved reason)
{
    static const char *const names[HM_UNMOVED_REASONS] = {"shared", "busy", "room", "denied", "other"};
    return reason < HM_UNMOVED_REASONS ? names[reason] : "other";
}

static bool is_text(const char *text, size_t size)
{
    size_t length = strnlen(text, size);
    for (size_t i = 0; i < length; i++)
        if (text[i] < 0x20 || text[i] > 0x7e)
            return false;
    return length < size;
}

static bool is_share(double value)
{
    return isfinite(value) && value <= 1;
}

static int refuse(struct hm_error *error, const char *field)
{
    return hm_fail(error, EBADMSG, "the migrator's figures: %s is out of range", field);
}

static int check_texts(const struct hm_progress *progress, struct hm_error *error)
{
    if (!is_text(progress->algorithm, sizeof(progress->algorithm)))
        return refuse(error, "algorithm");
    if (!is_text(progress->hot_by, sizeof(progress->hot_by)))
        return refuse(error, "hot_by");
    if (!is_text(progress->source, sizeof(progress->source)))
        return refuse(error, "source");
    if (!is_text(progress->source_why, sizeof(progress->source_why)))
        return refuse(error, "source_why");
    if (progress->n_warnings > HM_PROGRESS_WARNINGS)
        return refuse(error, "n_warnings");
    for (uint32_t i = 0; i < HM_PROGRESS_WARNINGS; i++)
        if (!is_text(progress->warning[i], sizeof(progress->warning[i])))
            return refuse(error, "warning");
    return 0;
}

int hm_progress_check(const struct hm_progress *progress, struct hm_error *error)
{
    if (progress->magic != HM_PROGRESS_MAGIC || progress->version != HM_PROGRESS_VERSION ||
        progress->bytes != sizeof(*progress))
        return hm_fail(error, EBADMSG, "the migrator's figures are of another version, or are none");
    const struct {
        const char *field;
        bool is_right;
    } rows[] = {
        {"state", progress->state <= HM_PROGRESS_ENDED},
        {"period_is_time", progress->period_is_time <= 1},
        {"knows_writes", progress->knows_writes <= 1},
        {"cpu_s", progress->cpu_s >= 0 && progress->cpu_s <= HM_PROGRESS_MOST_CPU_S},
        {"kernel_cpu_s", isfinite(progress->kernel_cpu_s) && progress->kernel_cpu_s <= HM_PROGRESS_MOST_CPU_S},
        {"fast_share", is_share(progress->fast_share)},
        {"last_fast_share", is_share(progress->last_fast_share)},
        {"best_share", is_share(progress->best_share)},
        {"n_ranks", progress->n_ranks <= MOST_PROCESSES},
        {"most_ranks", progress->most_ranks <= MOST_PROCESSES},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++)
        if (!rows[i].is_right)
            return refuse(error, rows[i].field);
    return check_texts(progress, error);
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
    };
}

void hm_progress_text(char *to, size_t size, const char *text)
{
    snprintf(to, size, "%s", text);
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
    /* The text is whole before it counts: the file may be read after a death at any moment. */
    memcpy(progress->warning[progress->n_warnings], line, sizeof(line));
    progress->n_warnings++;
}

int hm_progress_create(const char *path, uint32_t step_id, struct hm_error *error)
{
    struct hm_progress progress;
    hm_progress_init(&progress, step_id);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return hm_fail_errno(error, "cannot create %s", path);
    /* Reserved here: a store to a page without a block, in a run folder that is full, would be SIGBUS. */
    int full = posix_fallocate(fd, 0, sizeof(progress));
    if (full == 0 && pwrite(fd, &progress, sizeof(progress), 0) == (ssize_t)sizeof(progress))
        return fd;
    hm_fail(error, full ? full : EIO, "%s: no room for %zu bytes", path, sizeof(progress));
    int number = errno;
    unlink(path);
    close(fd);
    errno = number;
    return -1;
}

struct hm_progress *hm_progress_map(int fd, struct hm_error *error)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size != (off_t)sizeof(struct hm_progress)) {
        hm_fail(error, EBADMSG, "descriptor %d is not a progress file of %zu bytes", fd, sizeof(struct hm_progress));
        return NULL;
    }
    struct hm_progress *progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (progress == MAP_FAILED) {
        hm_fail_errno(error, "descriptor %d cannot be mapped", fd);
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
    struct stat status;
    int result = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return hm_fail_errno(error, "cannot read %s", path);
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size != (off_t)sizeof(*progress) ||
        pread(fd, progress, sizeof(*progress), 0) != (ssize_t)sizeof(*progress))
        hm_fail(error, EBADMSG, "%s is not a progress file of %zu bytes", path, sizeof(*progress));
    else
        result = hm_progress_check(progress, error);
    int number = errno;
    close(fd);
    errno = number;
    return result;
}
