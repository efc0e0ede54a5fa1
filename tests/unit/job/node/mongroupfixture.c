/* SPDX-License-Identifier: Apache-2.0 */
#include "mongroupfixture.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/files.h"
#include "base/heldlock.h"
#include "base/look.h"
#include "job/node/mongroup.h"
#include "unit/job/freshledger.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

struct hm_config config;
struct hm_job job;
int mkdir_fails;
const char *own_groups;
bool child_hangs;
static bool is_child;

int __real_mkdirat(int folder, const char *path, mode_t mode);
int __wrap_mkdirat(int folder, const char *path, mode_t mode);
int __real_unlinkat(int folder, const char *path, int flags);
int __wrap_unlinkat(int folder, const char *path, int flags);
int __real_hm_file_read(const char *path, char *out, size_t size, struct hm_error *error);
int __wrap_hm_file_read(const char *path, char *out, size_t size, struct hm_error *error);

static bool is_group(const char *path)
{
    return strncmp(path, "hybridmem.", 10) == 0;
}

int __wrap_mkdirat(int folder, const char *path, mode_t mode)
{
    static struct hm_job seen;
    if (!is_group(path))
        return __real_mkdirat(folder, path, mode);
    /* After a crash from here on, the ledger says whose group it is. */
    assert_int_equal(hm_ledger_read(&config, 7, &seen, NULL), 0);
    assert_true(seen.mongroup.is_begun && seen.mongroup.restart == 2);
    errno = mkdir_fails;
    if (mkdir_fails)
        return -1;
    if (__real_mkdirat(folder, path, mode) != 0)
        return -1;
    scratch_write(scratch_path("resctrl/mon_groups/%s/tasks", path), "");
    return 0;
}

/* Calls `look` in this process instead of a child. Checks that nobody would wait for the child: the ledger is not
 * locked. */
int hm_look(int (*look)(const void *question, void *found), const void *question, void *found, size_t size,
            int patience_ms)
{
    assert_int_equal(hm_heldlock_check("a process", NULL), 0);
    assert_true(size > 0 && patience_ms <= 5000);
    is_child = true;
    errno = child_hangs ? ETIMEDOUT : look(question, found);
    is_child = false;
    return errno == 0 ? 0 : -1;
}

/*
 * As in the kernel, a group is removed with the files in it. A group that does not exist cannot be removed. A user may
 * have mounted a file system on the group's folder, and to unmount that may last for ever: so a child has to do it.
 */
int __wrap_unlinkat(int folder, const char *path, int flags)
{
    if (!(flags & AT_REMOVEDIR))
        return __real_unlinkat(folder, path, flags);
    assert_true(is_child);
    if (faccessat(folder, path, F_OK, 0) != 0)
        return -1;
    return scratch_remove(scratch_path("resctrl/mon_groups/%s", path));
}

int __wrap_hm_file_read(const char *path, char *out, size_t size, struct hm_error *error)
{
    if (strcmp(path, "/proc/self/cpu_resctrl_groups") != 0)
        return __real_hm_file_read(path, out, size, error);
    if (!own_groups)
        return hm_fail(error, ENOENT, "no such file");
    hm_text_copy(out, own_groups, size);
    return 0;
}

void mongroup_folder(const char *path)
{
    assert_int_equal(__real_mkdirat(AT_FDCWD, scratch_path("%s", path), 0755), 0);
}

bool is_there(const char *path)
{
    return access(scratch_path("%s", path), F_OK) == 0;
}

unsigned mode_of(const char *path)
{
    struct stat status;
    assert_int_equal(stat(scratch_path("%s", path), &status), 0);
    return status.st_mode & 07777;
}

int mongroup_set_up(void **state)
{
    static const char *const folders[] = {"resctrl", "resctrl/info", "resctrl/info/L3_MON", "resctrl/mon_groups"};
    (void)state;
    ledger_with_job(&config, &job);
    job.restart = 2;
    scratch_remove(scratch_path("resctrl"));
    for (size_t i = 0; i < N_ROWS(folders); i++)
        mongroup_folder(folders[i]);
    scratch_write(scratch_path(FEATURES), "llc_occupancy\nmbm_total_bytes\nmbm_local_bytes\n");
    config.resctrl = true;
    snprintf(config.resctrl_dir, sizeof(config.resctrl_dir), "%s/resctrl", scratch);
    hm_mongroup_shut(&config);
    mkdir_fails = 0;
    child_hangs = false;
    own_groups = "res:/\nmon:\n";
    return 0;
}
