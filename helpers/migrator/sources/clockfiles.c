/* SPDX-License-Identifier: Apache-2.0 */
#include "clockfiles.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/pagesize.h"
#include "migrator/watch/powers.h"

static bool contains(const struct hm_mapping *mapping, uint64_t page)
{
    return page - mapping->range.first < mapping->range.n_pages;
}

/* Finds the mapping of a page among those of the process. Returns 0, or -1 with errno. */
static int read_mapping(pid_t pid, uint64_t page, struct hm_mapping *mapping)
{
    char path[32], *line = NULL;
    size_t size = 0;
    bool is_found = false;
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    while (!is_found && getline(&line, &size, file) > 0)
        is_found = hm_maps_parse_line(line, mapping) == 0 && contains(mapping, page);
    free(line);
    fclose(file);
    errno = ENOENT;
    return is_found ? 0 : -1;
}

/* The index of the mapping of a page, or -1 with errno. */
static int find(struct hm_clock_files *files, pid_t pid, uint64_t page)
{
    struct hm_mapping mapping;
    for (int i = 0; i < HM_CLOCK_FILES; i++)
        if (files->file[i].pid == pid && contains(&files->file[i].mapping, page))
            return i;
    if (read_mapping(pid, page, &mapping) != 0)
        return -1;
    int i = (int)(files->next++ % HM_CLOCK_FILES);
    files->file[i].pid = pid;
    files->file[i].mapping = mapping;
    return i;
}

static ssize_t read_file(int fd, const struct hm_mapping *mapping, uint64_t from, uint8_t *code, size_t size)
{
    uint64_t start = mapping->range.first << hm_page_shift();
    uint64_t left = (mapping->range.n_pages << hm_page_shift()) - (from - start);
    return pread(fd, code, size < left ? size : left, (off_t)((mapping->offset << hm_page_shift()) + (from - start)));
}

ssize_t hm_clock_files_read(struct hm_clock_files *files, pid_t pid, uint64_t from, uint8_t *code, size_t size)
{
    int at = find(files, pid, from >> hm_page_shift());
    if (at < 0)
        return -1;
    const struct hm_mapping mapping = files->file[at].mapping;
    int fd = -1;
    errno = ENOENT;
    if (mapping.is_code)
        fd = hm_powers_open_mapped(pid, mapping.range);
    if (fd < 0) {
        int number = errno;
        if (mapping.is_code && number == ENOENT) /* it is mapped no more: what is there now is seen the next time */
            files->file[at].pid = 0;
        errno = number;
        return -1;
    }
    ssize_t result = read_file(fd, &mapping, from, code, size);
    int number = errno;
    close(fd);
    errno = number;
    return result;
}

void hm_clock_files_forget(struct hm_clock_files *files)
{
    for (int i = 0; i < HM_CLOCK_FILES; i++)
        files->file[i].pid = 0;
}
