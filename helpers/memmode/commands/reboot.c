/* SPDX-License-Identifier: Apache-2.0 */
/* Reboots the node for Slurm, unless the memory would come back in another mode than it was asked to, or somebody would
 * lose data. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bootid.h"
#include "base/files.h"
#include "base/flock.h"
#include "base/path.h"
#include "base/spawn.h"
#include "memmode/decide/boot.h"
#include "namespace/pmem/asked.h"
#include "parts.h"

#define SYSTEMCTL "/usr/bin/systemctl"

/* No goal is pending. So where one was asked for in this boot, somebody has deleted it, and there is nothing to check
 * after the next. A note of an earlier boot still waits for a check that can drain the node. One that cannot be read is
 * believed by no check, either. */
static int forget(const struct hm_config *config, struct hm_error *error)
{
    struct hm_asked asked;
    if (hm_asked_read(config, &asked, NULL) <= 0 || hm_boot_is_past(asked.boot_id))
        return 0;
    return hm_asked_remove(config, error);
}

/* Whether the node may boot; also one without modules. */
static int look(const struct hm_hardware *hardware, const struct hm_config *config, enum hm_memmode asked,
                struct hm_error *error)
{
    struct hm_memmode_state state;
    if (hm_memmode_read(hardware, &state, error) != 0) {
        /* Modules that are there in one answer are not away because of another. */
        if (asked != HM_MEMMODE_NONE || errno != ENODEV || state.resources.physical > 0)
            return -1;
        error->text[0] = '\0';
        return 0;
    }
    if (hm_memmode_may_boot(&state, asked, error) != 0)
        return -1;
    return hm_memmode_pending(&state) == HM_MEMMODE_NONE ? forget(config, error) : 0;
}

/* Run the site's program, or systemctl. Only the firmware applies a goal, so systemctl is to pass it over neither by a
 * kernel that is loaded for kexec nor by a soft reboot. Returns 0, or -1 with a text. */
static int run(const struct hm_config *config, struct hm_error *error)
{
    char locale[] = "LC_ALL=C", folders[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin", word[] = "reboot";
    char no_kexec[] = "SYSTEMCTL_SKIP_AUTO_KEXEC=1", no_soft[] = "SYSTEMCTL_SKIP_AUTO_SOFT_REBOOT=1";
    char path[HM_CONFIG_PATH_MAX];
    bool is_own = config->reboot_program[0] != '\0';
    char *environment[] = {locale, folders, no_kexec, no_soft, NULL}, *arguments[] = {path, is_own ? NULL : word, NULL};
    hm_text_copy(path, is_own ? config->reboot_program : SYSTEMCTL, sizeof(path));
    int fd = hm_path_open(path, error);
    if (fd < 0)
        return -1;
    close(fd);
    const struct hm_spawn spawn = {
        .path = path, .arguments = arguments, .environment = environment, .extra = -1, .errors = STDERR_FILENO};
    pid_t pid = hm_spawn_start(&spawn, error);
    if (pid < 0)
        return -1;
    int status = hm_spawn_wait(pid);
    if (status < 0)
        return hm_fail_errno(error, "cannot wait for %s", path);
    if (WIFSIGNALED(status))
        return hm_fail(error, EIO, "%s was ended by signal %d", path, WTERMSIG(status));
    return WEXITSTATUS(status) == 0 ? 0 : hm_fail(error, EIO, "%s ended with status %d", path, WEXITSTATUS(status));
}

/* Nobody makes a namespace between the look and the order to reboot. Returns an exit status. */
static int reboot_locked(const struct hm_hardware *hardware, const struct hm_config *config, enum hm_memmode asked,
                         struct hm_error *error)
{
    int lock, status = hm_memmode_lock(config, &lock, error);
    if (status != HM_MEMMODE_EXIT_DONE)
        return status;
    bool is_done = look(hardware, config, asked, error) == 0 && run(config, error) == 0;
    hm_flock_close(lock);
    return is_done ? HM_MEMMODE_EXIT_DONE : HM_MEMMODE_EXIT_REFUSED;
}

/* Without the configuration nobody knows whether the board's Redfish service switches the mode of this node, nor which
 * lock is the one that others hold. So a node boots only if it has no ipmctl or no modules, and no persistent memory
 * of another kind. */
static int look_without_config(const struct hm_hardware *hardware, enum hm_memmode asked, struct hm_error *error)
{
    struct hm_memmode_state state = {0};
    if (asked != HM_MEMMODE_NONE)
        return hm_fail(error, EINVAL, "memmode=%s was asked for", hm_memmode_word(asked));
    if (!hardware->backend->is_away(hardware) &&
        (hm_memmode_read(hardware, &state, error) == 0 || errno != ENODEV || state.resources.physical > 0))
        return -1;
    if (hm_memmode_look(&state, error) != 0)
        return -1;
    return state.spaces.region_bytes == 0 ? 0 : hm_fail(error, EBUSY, "this node has persistent memory");
}

int hm_memmode_reboot_without_config(const struct hm_hardware *hardware, const struct hm_config *defaults,
                                     const char *features, struct hm_error *mistake)
{
    struct hm_error why = {{0}};
    enum hm_memmode asked;
    if (hm_memmode_parse_list(features, &asked, &why) != 0 || look_without_config(hardware, asked, &why) != 0)
        return HM_MEMMODE_EXIT_REFUSED;
    if (run(defaults, &why) == 0)
        return HM_MEMMODE_EXIT_DONE;
    hm_fail(mistake, EIO, "no reboot: %s", why.text);
    return HM_MEMMODE_EXIT_REFUSED;
}

int hm_memmode_reboot(const struct hm_hardware *hardware, const struct hm_config *config, const char *features,
                      struct hm_error *error)
{
    struct hm_error why = {{0}};
    enum hm_memmode asked;
    int status;
    if (hm_memmode_parse_list(features, &asked, error) != 0)
        return HM_MEMMODE_EXIT_USAGE;
    /* Slurm has one such program for all nodes, also for those where nobody can have set a goal. */
    if (asked == HM_MEMMODE_NONE && hardware->backend->is_away(hardware))
        status = run(config, &why) == 0 ? HM_MEMMODE_EXIT_DONE : HM_MEMMODE_EXIT_REFUSED;
    else
        status = reboot_locked(hardware, config, asked, &why);
    if (status != HM_MEMMODE_EXIT_DONE)
        hm_fail(error, EIO, "no reboot: %s", why.text);
    return status;
}
