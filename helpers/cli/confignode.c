/* SPDX-License-Identifier: Apache-2.0 */
/* What hybridmem wants of a node: users, groups, folders, cgroup v2. */
#include <errno.h>
#include <grp.h>
#include <linux/magic.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "configparts.h"

#define HM_USER "hybridmem" /* the monitor runs as it */
#define CGROUP_FOLDER "/sys/fs/cgroup"

/* A folder's owner is root, and these are its group and mode. */
struct wanted {
    const char *word; /* of hybridmem.conf */
    const char *path;
    bool has_group;
    gid_t group;
    const char *group_name;
    mode_t mode;
};

static void check_folder(const struct wanted *wanted, struct hm_report *report)
{
    struct stat status;
    if (stat(wanted->path, &status) < 0) {
        hm_report_change(report, "%s %s: %s: make it with install -d -o root%s%s -m %04o %s", wanted->word,
                         wanted->path, strerror(errno), wanted->has_group ? " -g " : "",
                         wanted->has_group ? wanted->group_name : "", (unsigned)wanted->mode, wanted->path);
        return;
    }
    if (!S_ISDIR(status.st_mode))
        hm_report_change(report, "%s %s is not a folder: move it away", wanted->word, wanted->path);
    else if (status.st_uid != 0)
        hm_report_change(report, "%s %s belongs to user %u: chown root %s", wanted->word, wanted->path,
                         (unsigned)status.st_uid, wanted->path);
    else if (wanted->has_group && status.st_gid != wanted->group)
        hm_report_change(report, "%s %s has group %u, not %s: chgrp %s %s", wanted->word, wanted->path,
                         (unsigned)status.st_gid, wanted->group_name, wanted->group_name, wanted->path);
    else if (status.st_mode & 07777 & ~wanted->mode)
        hm_report_change(report, "%s %s has mode %04o, which is more than %04o: chmod %04o %s", wanted->word,
                         wanted->path, (unsigned)status.st_mode & 07777, (unsigned)wanted->mode, (unsigned)wanted->mode,
                         wanted->path);
    else
        hm_report_ok(report, "%s %s belongs to root, mode %04o", wanted->word, wanted->path,
                     (unsigned)status.st_mode & 07777);
}

static void check_folders(const struct hm_config *config, struct hm_report *report)
{
    struct stat status;
    const struct group *group = getgrnam(config->record_group);
    if (group)
        hm_report_ok(report, "record_group %s exists", config->record_group);
    else
        hm_report_change(report, "record_group %s does not exist: groupadd --system %s, or name another one",
                         config->record_group, config->record_group);
    struct wanted records = {
        "record_dir", config->record_dir, group != NULL, group ? group->gr_gid : 0, config->record_group, 0750};
    struct wanted state = {"state_dir", config->state_dir, false, 0, "", 0755};
    struct wanted run = {"run_dir", config->run_dir, false, 0, "", 0755};
    check_folder(&records, report);
    check_folder(&state, report);
    if (stat(config->run_dir, &status) < 0 && errno == ENOENT)
        hm_report_ok(report, "run_dir %s is not there: the first job makes it", config->run_dir);
    else
        check_folder(&run, report);
}

void hm_config_check_node(const struct hm_config *config, struct hm_report *report)
{
    struct statfs mounted;
    if (statfs(CGROUP_FOLDER, &mounted) == 0 && mounted.f_type == CGROUP2_SUPER_MAGIC)
        hm_report_ok(report, "cgroup v2 is on " CGROUP_FOLDER);
    else
        hm_report_change(report, "cgroup v2 is not on " CGROUP_FOLDER
                                 ": boot with systemd.unified_cgroup_hierarchy=1 and without cgroup v1 controllers");
    if (getpwnam(HM_USER))
        hm_report_ok(report, "user " HM_USER " exists");
    else
        hm_report_change(report, "user " HM_USER
                                 " does not exist, and the monitor runs as it: useradd --system --no-create-home "
                                 "--shell /usr/sbin/nologin " HM_USER);
    check_folders(config, report);
}
