/* SPDX-License-Identifier: Apache-2.0 */
#include "devices.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/error.h"
#include "base/size.h"

#define HUGE "/sys/kernel/mm/hugepages"

static void add(struct hm_devices *devices, struct hm_device device)
{
    if (devices->n < HM_DEVICES)
        devices->device[devices->n++] = device;
}

/* Adds the device of a file without a name, which is on a file system that only the kernel mounts. */
static void add_own(struct hm_devices *devices, unsigned flags, enum hm_memory_kind kind)
{
    struct stat status;
    int fd = memfd_create("hybridmem", MFD_CLOEXEC | flags);
    if (fd >= 0 && fstat(fd, &status) == 0)
        add(devices, (struct hm_device){(uint64_t)major(status.st_dev) << 32 | minor(status.st_dev), kind,
                                        kind == HM_MEMORY_HUGETLB ? (uint64_t)status.st_blksize : 0});
    if (fd >= 0)
        close(fd);
}

void hm_devices_init(struct hm_devices *devices)
{
    const struct dirent *entry;
    devices->n = 0;
    add_own(devices, 0, HM_MEMORY_SHARED);
    DIR *folder = opendir(HUGE);
    while (folder && (entry = readdir(folder))) {
        uint64_t kib;
        if (sscanf(entry->d_name, "hugepages-%" SCNu64 "kB", &kib) == 1 && kib > 0 && kib < UINT64_C(1) << 40)
            add_own(devices, MFD_HUGETLB | (unsigned)__builtin_ctzll(kib << 10) << MFD_HUGE_SHIFT, HM_MEMORY_HUGETLB);
    }
    if (folder)
        closedir(folder);
}

/* Is `word` one of the words that commas divide in `list`, up to a blank? Returns what follows it, or NULL. */
static const char *find_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; *at && *at != ' ' && *at != '\n'; at += at[0] == ',') {
        size_t n = strcspn(at, ", \n");
        if (n >= length && strncmp(at, word, length) == 0 && (n == length || word[length - 1] == '='))
            return at + length;
        at += n;
    }
    return NULL;
}

static uint64_t parse_page_bytes(const char *options)
{
    const char *at = find_word(options, "pagesize=");
    char text[32] = "";
    uint64_t bytes = 0;
    size_t n = at ? strcspn(at, ", \n") : 0;
    if (n == 0 || n >= sizeof(text))
        return 0;
    memcpy(text, at, n);
    return hm_size_parse(text, &bytes, NULL) == 0 ? bytes : 0;
}

int hm_devices_parse_mount(const char *line, struct hm_device *device)
{
    static const struct {
        const char *type;
        enum hm_memory_kind kind;
    } rows[] = {{"tmpfs ", HM_MEMORY_SHARED},   {"ramfs ", HM_MEMORY_SHARED}, {"hugetlbfs ", HM_MEMORY_HUGETLB},
                {"devtmpfs ", HM_MEMORY_OTHER}, {"proc ", HM_MEMORY_OTHER},   {"sysfs ", HM_MEMORY_OTHER}};
    unsigned id, parent, major, minor;
    int at = 0;
    if (sscanf(line, "%u %u %u:%u %n", &id, &parent, &major, &minor, &at) != 4 || at == 0)
        return hm_fail(NULL, EBADMSG, "no mount");
    const char *type = strstr(line + at, " - ");
    type = type ? type + 3 : NULL;
    const char *source = type ? strchr(type, ' ') : NULL;
    const char *options = source ? strchr(source + 1, ' ') : NULL;
    if (!options)
        return hm_fail(NULL, EBADMSG, "no mount");
    *device = (struct hm_device){.number = (uint64_t)major << 32 | minor, .kind = HM_MEMORY_FILE};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strncmp(type, rows[i].type, strlen(rows[i].type)) == 0)
            device->kind = rows[i].kind;
    if (device->kind == HM_MEMORY_HUGETLB)
        device->huge_bytes = parse_page_bytes(options + 1);
    if (find_word(options + 1, "dax") || find_word(options + 1, "dax=always"))
        device->kind = HM_MEMORY_OTHER; /* the pages of its files are persistent memory */
    return 0;
}

/* Looks the device up in the process's mounts. */
static struct hm_device look_up(uint64_t number, pid_t pid)
{
    char path[64], *line = NULL;
    size_t size = 0;
    struct hm_device found = {.number = number, .kind = HM_MEMORY_FILE}, device;
    snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && getline(&line, &size, file) > 0)
        if (hm_devices_parse_mount(line, &device) == 0 && device.number == number)
            found = device;
    free(line);
    if (file)
        fclose(file);
    return found;
}

struct hm_device hm_devices_find(struct hm_devices *devices, uint64_t number, pid_t pid)
{
    for (size_t i = 0; i < devices->n; i++)
        if (devices->device[i].number == number)
            return devices->device[i];
    if (devices->n == HM_DEVICES)
        return (struct hm_device){.number = number, .kind = HM_MEMORY_FILE};
    return devices->device[devices->n++] = look_up(number, pid);
}
