/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which memory of a watched process, which is this one, may have accesses: not the files of the recording. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/pagesize.h"
#include "sites/record/maps.h"
#include "unit/lib/rows.h"

#define PAGES 16

enum { TABLE, OWN, OF_ANOTHER, USUAL, N_FILES };

static char folder[] = "/dev/shm/hm-test.XXXXXX";
static char *memory[N_FILES];
static int files[N_FILES];
static struct hm_watch *watch;

static int open_table(void)
{
    char path[sizeof(folder) + 16];
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof(path), "%s/%s", folder, HM_SITES_TABLE);
    return open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

/* This process has mapped the table, its own file, that of another process, and a file that is not the recording's. */
static int set_up(void **state)
{
    static struct hm_watched watched[2];
    size_t bytes = PAGES * hm_page_size();
    (void)state;
    for (int i = 0; i < N_FILES; i++) {
        files[i] = i == TABLE ? open_table() : memfd_create("file", MFD_CLOEXEC);
        if (files[i] < 0 || ftruncate(files[i], (off_t)bytes) != 0)
            return -1;
        memory[i] = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, files[i], 0);
        if (memory[i] == MAP_FAILED)
            return -1;
    }
    watch = calloc(1, sizeof(*watch));
    if (!watch)
        return -1;
    watched[0] = (struct hm_watched){.process = {.pid = getppid()}, .fd = files[OF_ANOTHER]};
    watched[1] = (struct hm_watched){.process = {.pid = getpid()}, .fd = files[OWN]};
    watch->watched = watched;
    watch->n = 2;
    watch->folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return watch->folder_fd >= 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < N_FILES; i++) {
        munmap(memory[i], PAGES * hm_page_size());
        close(files[i]);
    }
    int result = unlinkat(watch->folder_fd, HM_SITES_TABLE, 0);
    close(watch->folder_fd);
    free(watch);
    return result == 0 ? rmdir(folder) : -1;
}

static void test_the_files_of_the_recording_are_left_out(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int file;
        bool is_there;
    } rows[] = {
        {"the table", TABLE, false},
        {"the process's own file", OWN, false},
        {"the file of another process", OF_ANOTHER, true},
        {"another file", USUAL, true},
    };
    struct hm_rank rank = {.pid = getpid()};
    struct hm_ranks ranks = {.n = 1, .rank = &rank};
    struct hm_sampler_maps all = {.maps = NULL};
    assert_true(hm_sampler_maps_look(&all, &ranks, watch));
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        uint64_t first = (uintptr_t)memory[rows[i].file] >> hm_page_shift();
        uint64_t bytes = hm_sampler_maps_bytes(&all, 0, first, PAGES);
        if (bytes != (rows[i].is_there ? PAGES * hm_page_size() : 0))
            fail_msg("%s: %llu bytes", rows[i].name, (unsigned long long)bytes);
    }
    assert_int_equal(hm_sampler_maps_bytes(&all, 1, 0, UINT64_MAX >> hm_page_shift()), 0); /* no such process */
    hm_sampler_maps_free(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_files_of_the_recording_are_left_out)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
