/* SPDX-License-Identifier: Apache-2.0 */
/* Checks after a boot that the firmware has done what was asked for before it, and drains the node otherwise. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bootid.h"
#include "base/flock.h"
#include "base/patience.h"
#include "memmode/decide/boot.h"
#include "namespace/pmem/asked.h"
#include "parts.h"
#include "slurm/scontrol.h"

/* slurmctld may be starting, too, when the whole cluster boots. */
#define TRIES 6
#define PAUSE_S 10

/* Drain the node, of which `node` gets Slurm's name. Returns 0 or -1. */
static int drain(const char *given, char node[HM_MEMMODE_NAME], const char *reason, struct hm_error *error)
{
    for (int i = 1; hm_memmode_name(given, node, error) != 0 || hm_scontrol_drain(node, reason, error) != 0; i++) {
        uint64_t since_ns = 0;
        if (i == TRIES)
            return -1;
        while (hm_patience_pause(&since_ns, PAUSE_S))
            continue;
    }
    return 0;
}

/* Tells a firmware that has ignored the goal, or a boot without firmware (kexec), from one that has dropped it. */
static bool is_still_pending(const struct hm_hardware *hardware, const struct hm_memmode_state *after)
{
    struct hm_memmode_state state = *after;
    return hm_memmode_read_pending(hardware, &state, NULL) == 0 && hm_memmode_pending(&state) != HM_MEMMODE_NONE;
}

/* The note stays until the node is drained, so that a later check may do it. Then none is left, but where a goal is
 * pending still, the mode of which is `left`: the next boot ends what is made until then. `left` is NULL for none.
 * `node` gets Slurm's name of the node. */
static int refuse(const struct hm_config *config, const char *given, char node[HM_MEMMODE_NAME], const char *what,
                  const char *left, struct hm_error *error)
{
    struct hm_error why = {{0}}, stays = {{0}};
    char reason[HM_ERROR_TEXT];
    snprintf(reason, sizeof(reason), "hybridmem: %.320s", what);
    if (drain(given, node, reason, &why) != 0) {
        hm_fail(error, EIO, "%.320s; the node is not drained: %s", what, why.text);
        return HM_MEMMODE_EXIT_REFUSED;
    }
    bool is_noted = (left ? hm_asked_write(config, left, true, &stays) : hm_asked_remove(config, &stays)) == 0;
    hm_fail(error, EIO, "%.320s; node %s is drained%s%s", what, node, is_noted ? "" : "; ", stays.text);
    return HM_MEMMODE_EXIT_DRAINED;
}

/* There was no boot since it was asked for. So what was asked for is still pending, or somebody has changed that by
 * hand: then the node is not to be drained after the boot, and where nothing is pending, namespaces may be made. */
static int look_again(const struct hm_hardware *hardware, const struct hm_config *config, const struct hm_asked *asked,
                      struct hm_error *error)
{
    struct hm_memmode_state state;
    int result = 0;
    if (hm_memmode_read(hardware, &state, error) != 0)
        return HM_MEMMODE_EXIT_REFUSED;
    enum hm_memmode pending = hm_memmode_pending(&state);
    if (pending == HM_MEMMODE_NONE)
        result = hm_asked_remove(config, error);
    else if (!asked->is_unsure && pending != hm_memmode_find(asked->mode))
        result = hm_asked_write(config, asked->mode, true, error);
    return result == 0 ? HM_MEMMODE_EXIT_DONE : HM_MEMMODE_EXIT_REFUSED;
}

/* slurmctld takes the node for one in the mode that was asked for. Where slurmd then reports another, slurmctld would
 * set the node invalid, with a reason of its own in place of the drain's. */
static void tell(const char *node, const struct hm_memmode_state *state, struct hm_error *error)
{
    struct hm_error why = {{0}}, drained = *error;
    if (hm_memmode_tell(node, state, &why) != 0)
        hm_fail(error, EIO, "%.400s; slurmctld is not told its mode: %.100s", drained.text, why.text);
}

/* The mode has come. slurmctld may have given the node up meanwhile: Slurm 26.05 then takes it for one that has all
 * modes, and sets it invalid as soon as slurmd reports one. So slurmctld hears of the mode first. It is asked once:
 * without an answer, the boot goes on, and `error` is a line for the log. */
static void tell_come(const char *given, const struct hm_memmode_state *state, const char *mode, struct hm_error *error)
{
    struct hm_error why = {{0}};
    char node[HM_MEMMODE_NAME];
    if (hm_memmode_name(given, node, &why) != 0 || hm_memmode_tell(node, state, &why) != 0)
        hm_fail(error, EIO, "memmode=%s has come; slurmctld is not told: %.500s", mode, why.text);
}

/* There was a boot since. */
static int look_after(const struct hm_hardware *hardware, const struct hm_config *config, const struct hm_asked *asked,
                      const char *given, struct hm_error *error)
{
    struct hm_memmode_state state;
    struct hm_error what = {{0}};
    char text[HM_ERROR_TEXT], node[HM_MEMMODE_NAME];
    if (asked->is_unsure)
        return hm_asked_remove(config, error) == 0 ? HM_MEMMODE_EXIT_DONE : HM_MEMMODE_EXIT_REFUSED;
    /* What cannot be seen is no cause to drain a node. */
    if (hm_memmode_read_now(hardware, &state, error) != 0)
        return HM_MEMMODE_EXIT_REFUSED;
    if (hm_memmode_now(&state) == HM_MEMMODE_NONE) {
        hm_fail(error, ENODEV, "ipmctl sees no persistent memory modules: whether memmode=%s has come is not known",
                asked->mode);
        return HM_MEMMODE_EXIT_REFUSED;
    }
    if (hm_memmode_has_come(&state, hm_memmode_find(asked->mode), &what) == 0) {
        tell_come(given, &state, asked->mode, error);
        return hm_asked_remove(config, error) == 0 ? HM_MEMMODE_EXIT_DONE : HM_MEMMODE_EXIT_REFUSED;
    }
    bool is_pending = is_still_pending(hardware, &state);
    snprintf(text, sizeof(text), "%.280s%s", what.text, is_pending ? "; a goal is still pending" : "");
    int status = refuse(config, given, node, text, is_pending ? asked->mode : NULL, error);
    if (status == HM_MEMMODE_EXIT_DRAINED)
        tell(node, &state, error);
    return status;
}

/* With the lock held: a change may have written the note anew. */
static int check_locked(const struct hm_hardware *hardware, const struct hm_config *config, const char *given,
                        struct hm_error *error)
{
    struct hm_asked asked;
    int found = hm_asked_read(config, &asked, error);
    if (found <= 0)
        return found < 0 ? HM_MEMMODE_EXIT_REFUSED : HM_MEMMODE_EXIT_DONE;
    return hm_boot_is_past(asked.boot_id) ? look_after(hardware, config, &asked, given, error)
                                          : look_again(hardware, config, &asked, error);
}

int hm_memmode_check(const struct hm_hardware *hardware, const struct hm_config *config, const char *given,
                     struct hm_error *error)
{
    struct hm_asked asked;
    int lock, found = hm_asked_read(config, &asked, error);
    /* Without a note there is nothing to wait for, as for what is wiped at boot. */
    if (found <= 0)
        return found < 0 ? HM_MEMMODE_EXIT_REFUSED : HM_MEMMODE_EXIT_DONE;
    int status = hm_memmode_lock(config, &lock, error);
    if (status != HM_MEMMODE_EXIT_DONE)
        return status;
    status = check_locked(hardware, config, given, error);
    hm_flock_close(lock);
    return status;
}
