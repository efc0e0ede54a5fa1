/* SPDX-License-Identifier: Apache-2.0 */
#include "mountinfo.h"

#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/files.h"

/* The first line of the device, "36 35 98:0 /root /place options...", or NULL. */
static const char *find_line(const char *mountinfo, dev_t device)
{
    unsigned major_number, minor_number;
    for (const char *line = mountinfo; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (sscanf(line, "%*u %*u %u:%u", &major_number, &minor_number) == 2 && major_number == major(device) &&
            minor_number == minor(device))
            return line;
    }
    return NULL;
}

bool hm_mountinfo_has(const char *mountinfo, dev_t device)
{
    return find_line(mountinfo, device) != NULL;
}

/* Blanks, tabs, newlines and backslashes of the place are written in three octal digits. */
static bool unescape(const char *from, size_t length, char *place, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned byte = (unsigned char)from[i];
        if (byte == '\\' && i + 3 < length && sscanf(from + i + 1, "%3o", &byte) == 1)
            i += 3;
        if (used + 1 >= size)
            return false;
        place[used++] = (char)byte;
    }
    place[used] = '\0';
    return used > 0;
}

bool hm_mountinfo_place(const char *mountinfo, dev_t device, char *place, size_t size)
{
    int from = 0, to = 0;
    const char *line = find_line(mountinfo, device);
    if (!line || sscanf(line, "%*u %*u %*u:%*u %*s %n%*s%n", &from, &to) < 0 || to <= from ||
        (size_t)to > strcspn(line, "\n"))
        return false;
    return unescape(line + from, (size_t)(to - from), place, size);
}

bool hm_mountinfo_sees(const char *pid, dev_t device, char *text)
{
    char path[40];
    snprintf(path, sizeof(path), "/proc/%.16s/mountinfo", pid);
    return hm_file_read(path, text, HM_MOUNTINFO, NULL) == 0 && hm_mountinfo_has(text, device);
}
