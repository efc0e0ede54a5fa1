/* SPDX-License-Identifier: Apache-2.0 */
#include "folders.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "layout.h"

void hm_folders_close(struct hm_folders *folders)
{
    for (int i = 0; i < folders->n; i++)
        if (folders->fd[i] >= 0)
            close(folders->fd[i]);
    folders->n = 0;
}

int hm_folders_reserve(struct hm_folders *folders, const struct hm_alloc_run *run, size_t n_runs, char *reason)
{
    uint64_t wanted[HM_FOLDERS] = {0};
    int result = 0;
    for (size_t i = 0; i < n_runs; i++)
        if (run[i].folder >= 0)
            wanted[run[i].folder] += run[i].bytes;
    for (int i = 0; i < folders->n; i++) {
        int number = wanted[i] > 0 ? posix_fallocate(folders->fd[i], 0, (off_t)wanted[i]) : 0;
        if (number == 0)
            continue;
        hm_reason_add(reason, "folder %d of HYBRIDMEM_FSDAX_DIRS gives no space: %s", i, strerror(number));
        folders->room_bytes[i] = 0;
        result = -1;
    }
    return result;
}

void hm_folders_map(struct hm_folders *folders, char *data, struct hm_alloc_run *run, size_t n_runs, char *reason)
{
    uint64_t used[HM_FOLDERS] = {0};
    for (size_t i = 0; i < n_runs; i++) {
        int folder = run[i].folder;
        if (folder < 0)
            continue;
        if (mmap(data + run[i].offset, run[i].bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                 folders->fd[folder], (off_t)used[folder]) == MAP_FAILED) {
            hm_reason_add(reason, "a file cannot be mapped: %s", strerror(errno));
            run[i].folder = -1;
        }
        used[folder] += run[i].bytes;
    }
}
