/* SPDX-License-Identifier: Apache-2.0 */
#include "guard.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/files.h"

void hm_guard_init(struct hm_guard *guard, const char *path, uint64_t now_ns)
{
    *guard = (struct hm_guard){.path = path, .fd = -1, .since_ns = now_ns};
}

int hm_guard_parse(const char *text)
{
    static const char key[] = "populated ";
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, sizeof(key) - 1) != 0)
            continue;
        const char *value = line + sizeof(key) - 1;
        bool is_digit = *value == '0' || *value == '1';
        return is_digit && (value[1] == '\n' || value[1] == '\0') ? *value - '0' : -1;
    }
    return -1;
}

bool hm_guard_is_over(struct hm_guard *guard, uint64_t now_ns)
{
    bool in_grace = now_ns - guard->since_ns < HM_GUARD_GRACE_NS;
    char text[256];
    struct stat status;
    if (guard->fd < 0)
        guard->fd = open(guard->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (guard->fd < 0)
        return !in_grace;
    /* Reading also rearms the kernel's event for poll. */
    ssize_t length = hm_file_read_open(guard->fd, text, sizeof(text));
    if (length < 0 || fstat(guard->fd, &status) != 0 || status.st_nlink == 0)
        return true;
    int populated = hm_guard_parse(text);
    guard->was_populated = guard->was_populated || populated == 1;
    return populated != 1 && (guard->was_populated || !in_grace);
}
