/* SPDX-License-Identifier: Apache-2.0 */
#include "groupwatch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define EVENTS (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR)

int hm_groupwatch_open(struct hm_groupwatch *watch, int folder, struct hm_error *error)
{
    char path[64];
    *watch = (struct hm_groupwatch){0};
    if (faccessat(folder, "mon_groups", F_OK, 0) != 0 && errno == ENOENT)
        return 0; /* a monitoring group has no groups below it */
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (fd < 0)
        return hm_fail_errno(error, "mon_groups cannot be watched");
    snprintf(path, sizeof(path), "/proc/self/fd/%d/mon_groups", folder);
    if (inotify_add_watch(fd, path, EVENTS) >= 0) {
        *watch = (struct hm_groupwatch){.is_on = true, .fd = fd};
        return 0;
    }
    int number = errno;
    close(fd);
    return hm_fail(error, number, "mon_groups cannot be watched: %s", strerror(number));
}

bool hm_groupwatch_has_news(const struct hm_groupwatch *watch)
{
    char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    bool has_news = false;
    /* The events' contents do not matter: any event means that something changed. */
    while (watch->is_on && read(watch->fd, events, sizeof(events)) > 0)
        has_news = true;
    return has_news;
}

bool hm_groupwatch_end_reading(struct hm_groupwatch *watch, bool had_news_before)
{
    /* A change during a reading may be before or after the counters' values, so it counts for both intervals. */
    bool is_in_reading = hm_groupwatch_has_news(watch);
    bool has_changed = had_news_before || is_in_reading || watch->was_in_reading;
    watch->was_in_reading = is_in_reading;
    return has_changed;
}

void hm_groupwatch_close(struct hm_groupwatch *watch)
{
    if (watch->is_on)
        close(watch->fd);
    *watch = (struct hm_groupwatch){0};
}
