/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks what hybridmem needs on a node: its user, groups, folders, cgroup v2, the preload library, and the programs,
 * the resctrl file system and the tiers that hybridmem.conf names.
 */
#include <errno.h>
#include <grp.h>
#include <linux/magic.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/files.h"
#include "base/installed.h"
#include "base/rundir.h"
#include "core/topology/discover.h"
#include "job/node/mongroup.h"
#include "parts.h"

#define HM_USER "hybridmem" /* user that the monitor runs as */
#define CGROUP_FOLDER "/sys/fs/cgroup"

/* A folder that root must own. `mode` has the permissions that it may have, `needed` those that it must have. */
struct wanted {
    const char *word; /* key in hybridmem.conf */
    const char *path;
    const struct group *group; /* NULL: any */
    mode_t mode, needed;
    bool is_made; /* the first job makes it if it is absent */
};

/* Writes to `above` the first folder above `path` that the caller may not enter; "" if there is none. */
static void find_shut(const char *path, char *above, size_t size)
{
    for (const char *end = strchr(path + 1, '/'); end; end = strchr(end + 1, '/')) {
        snprintf(above, size, "%.*s", (int)(end - path), path);
        if (access(above, X_OK) < 0)
            return;
    }
    above[0] = '\0';
}

static void check_missing(const struct wanted *wanted, int number, struct hm_report *report)
{
    char shut[sizeof(((struct hm_config *)NULL)->record_dir)] = "";
    if (number == EACCES)
        find_shut(wanted->path, shut, sizeof(shut));
    if (number == ENOENT && wanted->is_made)
        hm_report_ok(report, "%s %s is not there: the first job makes it", wanted->word, wanted->path);
    else if (shut[0])
        hm_report_change(report, "%s %s: user %u may not enter %s: chmod a+x %s, or check as root", wanted->word,
                         wanted->path, (unsigned)geteuid(), shut, shut);
    else if (number != ENOENT)
        hm_report_change(report, "%s %s cannot be looked at: %s", wanted->word, wanted->path, strerror(number));
    else
        hm_report_change(report, "%s %s: %s: make it with install -d -o root%s%s -m %04o %s", wanted->word,
                         wanted->path, strerror(number), wanted->group ? " -g " : "",
                         wanted->group ? wanted->group->gr_name : "", (unsigned)wanted->mode, wanted->path);
}

static void check_folder(const struct wanted *wanted, struct hm_report *report)
{
    struct stat status;
    if (stat(wanted->path, &status) < 0) {
        check_missing(wanted, errno, report);
        return;
    }
    unsigned mode = status.st_mode & 07777;
    if (!S_ISDIR(status.st_mode))
        hm_report_change(report, "%s %s is not a folder: move it away", wanted->word, wanted->path);
    else if (status.st_uid != 0)
        hm_report_change(report, "%s %s belongs to user %u: chown root %s", wanted->word, wanted->path,
                         (unsigned)status.st_uid, wanted->path);
    else if (wanted->group && status.st_gid != wanted->group->gr_gid)
        hm_report_change(report, "%s %s has group %u, not %s: chgrp %s %s", wanted->word, wanted->path,
                         (unsigned)status.st_gid, wanted->group->gr_name, wanted->group->gr_name, wanted->path);
    else if ((mode & ~wanted->mode) || (mode & wanted->needed) != wanted->needed)
        hm_report_change(report, "%s %s has mode %04o: chmod %04o %s", wanted->word, wanted->path, mode,
                         (unsigned)wanted->mode, wanted->path);
    else
        hm_report_ok(report, "%s %s belongs to root, mode %04o", wanted->word, wanted->path, mode);
}

static bool is_below(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && path[length] == '/';
}

static void check_groups(const struct hm_config *config, struct hm_report *report)
{
    for (int i = 0; i < config->n_rules; i++) {
        const struct hm_config_rule *rule = &config->rule[i];
        if (rule->kind != HM_RULE_GROUP)
            continue;
        if (getgrnam(rule->name))
            hm_report_ok(report, "group %s, which has a rule, exists", rule->name);
        else
            hm_report_change(report,
                             "group %s, which has a rule, does not exist here, so this node cannot tell who is in it: "
                             "users without a rule of their own get only the modes that this rule names; make the "
                             "group, or remove the rule",
                             rule->name);
    }
}

static void check_folders(const struct hm_config *config, struct hm_report *report)
{
    const struct group *group = getgrnam(config->record_group);
    char root[sizeof(config->run_dir) + sizeof("/" HM_RUNDIR_ROOT)];
    if (group)
        hm_report_ok(report, "record_group %s exists", config->record_group);
    else
        hm_report_change(report, "record_group %s does not exist: groupadd --system %s, or name another one",
                         config->record_group, config->record_group);
    /* Users have to be able to pass through record_dir and run_dir (0001). Nobody but root may list these
     * folders, except that the group of record_dir may list that one. */
    const struct wanted rows[] = {
        {"record_dir", config->record_dir, group, 0751, 0001, is_below(config->record_dir, config->state_dir)},
        {"state_dir", config->state_dir, NULL, HM_FOLDER_PASS, 0, true},
        {"run_dir", config->run_dir, NULL, HM_FOLDER_PASS, 0001, true},
        {"run_dir", root, NULL, 0700, 0, true},
    };
    snprintf(root, sizeof(root), "%s/" HM_RUNDIR_ROOT, config->run_dir);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check_folder(&rows[i], report);
}

/*
 * Reports a file of hybridmem that some installations do not have. `what` needs the file; `otherwise` says what happens
 * without it, and what to do.
 */
static void check_part(const char *path, int mode, const char *what, const char *otherwise, struct hm_report *report)
{
    if (access(path, mode) == 0)
        hm_report_ok(report, "%s is there, for %s", path, what);
    else
        hm_report_change(report, "%s: %s: %s %s", path, strerror(errno), what, otherwise);
}

static void check_resctrl(const struct hm_config *config, struct hm_report *report)
{
    struct hm_error error;
    if (hm_mongroup_check(config, &error) == 0)
        hm_report_ok(report, "resctrl on %s counts memory traffic", config->resctrl_dir);
    else
        hm_report_change(report, "resctrl = yes: %s: mount -t resctrl resctrl %s, or say no", error.text,
                         config->resctrl_dir);
}

/* The text after the name of the configuration file, if the text starts with that name; else NULL. */
static const char *of_file(const char *text)
{
    size_t length = strlen(HM_CONFIG_NAME);
    return strncmp(text, HM_CONFIG_NAME ":", length + 1) == 0 ? text + length : NULL;
}

/*
 * Checks the sections of tiers against this node, as `hybridmem tiers` does: only the node shows which nodes and tiers
 * exist. A section that is ignored is only a note, as it may be intended for other nodes. With an invalid section, each
 * request but off is refused. Returns the number of tiers, 0 if it is not known.
 */
static int check_tiers(const struct hm_config *config, const char *path, struct hm_report *report)
{
    struct hm_error error = {""};
    struct hm_tiers *tiers = calloc(1, sizeof(*tiers));
    if (!tiers || hm_discover(NULL, &tiers->topology, &error) < 0 ||
        hm_tiers_group(&tiers->topology, config, tiers, &error) < 0) {
        const char *text = tiers ? error.text : "out of memory", *said = of_file(text);
        hm_report_change(report, "%s%s", said ? path : "tiers: ", said ? said : text);
        free(tiers);
        return 0;
    }
    int n_notes = 0, n_tiers = tiers->n_tiers;
    for (int i = 0; i < tiers->n_warnings; i++) {
        const char *said = of_file(tiers->warning[i]);
        n_notes += said != NULL;
        if (said)
            hm_report_note(report, "%s%s", path, said);
    }
    if (config->n_tiers + config->n_channels > 0 && n_notes == 0)
        hm_report_ok(report, "the tiers of %s are on this node", path);
    free(tiers);
    return n_tiers;
}

void hm_config_check_node(const struct hm_config *config, const char *path, struct hm_report *report)
{
    struct statfs mounted;
    char ram[24], programs[32];
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
    check_part(hm_preload_library(), R_OK, "isolate", "is refused without it: install hybridmem as a whole", report);
    check_part(hm_guide_library(), R_OK, "guided", "is refused without it: install hybridmem as a whole", report);
    snprintf(ram, sizeof(ram), "ram = %s", hm_slow_ram_name(config->ram));
    if (config->ram != HM_SLOW_RAM_NONE)
        check_part(HM_PKGLIBEXECDIR "/hybridmem-namespace", X_OK, ram,
                   "does nothing without it: build hybridmem with libndctl and libdaxctl", report);
    if (config->resctrl)
        check_resctrl(config, report);
    snprintf(programs, sizeof(programs), "meter_programs = %s", hm_meter_programs_name(config->meter_programs));
    if (config->meter_programs & HM_METER_PAPI)
        check_part(HM_PKGLIBEXECDIR "/hybridmem-papi", X_OK, programs,
                   "asks PAPI for nothing without it: build hybridmem with libpapi (configure --with-papi)", report);
    if (config->meter_programs & HM_METER_SLURM)
        check_part(HM_PKGLIBEXECDIR "/hybridmem-slurmenergy", X_OK, programs,
                   "asks Slurm for nothing without it: build hybridmem where libslurm is", report);
    check_folders(config, report);
    check_groups(config, report);
    hm_config_check_load(config, check_tiers(config, path, report), report);
}
