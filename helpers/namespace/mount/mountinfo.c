/* SPDX-License-Identifier: Apache-2.0 */
#include "mountinfo.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

/* Undo the kernel's escapes, such as \040 for a blank. */
static void unescape(char *text)
{
    char *out = text;
    unsigned byte;
    while (*text) {
        if (text[0] == '\\' && strspn(text + 1, "01234567") >= 3 && sscanf(text + 1, "%3o", &byte) == 1) {
            *out++ = (char)byte;
            text += 4;
        } else {
            *out++ = *text++;
        }
    }
    *out = '\0';
}

/* The target of a line "ID PARENT MAJOR:MINOR ROOT TARGET ..." that is about the device; else NULL. Changes the line.
 */
static char *target_of(char *line, dev_t device)
{
    unsigned major, minor;
    char *field[5] = {NULL}, *rest = line;
    for (int i = 0; i < 5; i++)
        field[i] = strsep(&rest, " \n");
    if (!rest || sscanf(field[2], "%u:%u", &major, &minor) != 2 || makedev(major, minor) != device)
        return NULL;
    unescape(field[4]);
    return field[4];
}

int hm_mountinfo_place(const char *path, dev_t device, char *place, size_t size)
{
    char *line = NULL, *target = NULL;
    size_t room = 0;
    int result = 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    while (!target && getline(&line, &room, file) > 0)
        target = target_of(line, device);
    if (target && strlen(target) < size) {
        memcpy(place, target, strlen(target) + 1);
        result = 1;
    } else if (target || ferror(file)) {
        result = -1;
    }
    free(line);
    fclose(file);
    return result;
}

bool hm_mountinfo_sees(const char *pid, dev_t device)
{
    char path[40], place[PATH_MAX];
    snprintf(path, sizeof(path), "/proc/%.16s/mountinfo", pid);
    return hm_mountinfo_place(path, device, place, sizeof(place)) == 1;
}
