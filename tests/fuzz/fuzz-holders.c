/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the names that a user can give to files, folders and file systems. With the kernel's escapes they are in
 * /proc/PID/mountinfo and numa_maps, where root looks up who holds a device or a node. No name changes what root finds.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "namespace/mount/mountinfo.h"
#include "namespace/ram/nodeholders.h"

#define NAME 128
#define PLACE "/run/hybridmem/fsdax/7/0"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Writes a name as the kernel does, which escapes these bytes. */
static void escape(const char *name, const char *bytes, char out[4 * NAME])
{
    size_t used = 0;
    for (; *name; name++)
        used += strchr(bytes, *name) ? (size_t)snprintf(out + used, 5, "\\%03o", (unsigned char)*name)
                                     : (size_t)snprintf(out + used, 5, "%c", *name);
    out[used] = '\0';
}

static void check_numa_maps(const char *name)
{
    char escaped[4 * NAME], line[5 * NAME];
    struct hm_node_use use = {0};
    struct hm_set nodes;
    hm_set_parse(&nodes, "4-5", NULL);
    escape(name, "\n\t= ", escaped);
    snprintf(line, sizeof(line), "7f00 default file=/%s mapped=3 N0=1 N4=2 kernelpagesize_kB=4\n", escaped);
    hm_node_use_add(&use, line, &nodes);
    if (use.bytes != 0 || use.is_by_name)
        abort();
    snprintf(line, sizeof(line), "7f00 default file=/%s anon=1 dirty=1 mapped=3 N0=1 N4=2 kernelpagesize_kB=4\n",
             escaped);
    hm_node_use_add(&use, line, &nodes);
    if (use.bytes != 2 * 4096 || use.is_by_name)
        abort();
}

/* Checks that the device 259:1 is found mounted on PLACE, or not at all, where `text` is a mountinfo file. */
static void check_place(const char *text, bool is_mounted)
{
    char path[32], place[PATH_MAX];
    int fd = memfd_create("mountinfo", MFD_CLOEXEC);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int found = hm_mountinfo_place(path, makedev(259, 1), place, sizeof(place));
    if (found != is_mounted || (is_mounted && strcmp(place, PLACE) != 0))
        abort();
    close(fd);
}

static void check_mountinfo(const char *name)
{
    char folder[4 * NAME], source[4 * NAME], text[32 * NAME];
    escape(name, " \t\n\\", folder);
    escape(name, " \t\n\\#", source);
    int length = snprintf(text, sizeof(text), "35 1 0:50 /%s /home/%s rw - fuse.%s %s rw,user_id=1000\n", folder,
                          folder, source, source);
    check_place(text, false);
    snprintf(text + length, sizeof(text) - (size_t)length,
             "36 1 259:1 / " PLACE " rw shared:9 - ext4 /dev/pmem0 rw,dax\n37 1 0:51 / /home/%s rw - tmpfs %s rw\n",
             folder, source);
    check_place(text, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char name[NAME] = "x";
    memcpy(name + 1, data, size < NAME - 1 ? size : NAME - 2);
    check_numa_maps(name);
    check_mountinfo(name);
    return 0;
}
