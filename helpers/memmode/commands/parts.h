/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of hybridmem-memmode. */
#ifndef HM_MEMMODE_COMMANDS_PARTS_H
#define HM_MEMMODE_COMMANDS_PARTS_H

#include "core/config/config.h"
#include "memmode/backends/backend.h"
#include "memmode/decide/decide.h"

/* Exit statuses, as those of hybridmem-namespace. */
enum {
    HM_MEMMODE_EXIT_DONE,
    HM_MEMMODE_EXIT_REFUSED, /* refused, or failed; no goal is pending that was not before */
    HM_MEMMODE_EXIT_USAGE,
    HM_MEMMODE_EXIT_BUSY,    /* a program that makes, removes or wipes namespaces is at work */
    HM_MEMMODE_EXIT_DRAINED, /* the node did not come back in the mode that was asked for, and is drained */
    HM_MEMMODE_EXIT_LEFT     /* failed, and a goal is left that could not be deleted */
};

/* Ask the hardware which mode it is in. Returns 0, or -1 with a text; for this and the next two functions. */
int hm_memmode_read_now(const struct hm_hardware *hardware, struct hm_memmode_state *state, struct hm_error *error);

/* Ask it what is pending, into a state that hm_memmode_read or hm_memmode_read_now has filled. */
int hm_memmode_read_pending(const struct hm_hardware *hardware, struct hm_memmode_state *state, struct hm_error *error);

/* Ask it and the kernel for the whole state. */
int hm_memmode_read(const struct hm_hardware *hardware, struct hm_memmode_state *state, struct hm_error *error);

/* Look again at what changes without a boot: the namespaces and the time. Returns 0 or -1. */
int hm_memmode_look(struct hm_memmode_state *state, struct hm_error *error);

/* Have the node come back from its next boot in the mode `wanted`. `state` gets what was seen of it before anything
 * was changed, also where the lock is another's, and is all 0 where it could not be read. Waits at most 130 s for
 * others and 190 s for what dead jobs have left: with what slurmctld has to be told afterwards, Slurm's limit for a
 * helper (ExecTime = 600 in the guide) leaves time for ipmctl. Returns an exit status; where it is not 0, the text says
 * why in one line. */
int hm_memmode_change(const struct hm_hardware *hardware, const struct hm_config *config, enum hm_memmode wanted,
                      struct hm_memmode_state *state, struct hm_error *error);

/* Take the lock that every program has which makes or removes namespaces. Returns an exit status; where it is 0, `lock`
 * is for hm_flock_close. */
int hm_memmode_lock(const struct hm_config *config, int *lock, struct hm_error *error);

#define HM_MEMMODE_NAME 65 /* bytes of the name of a node */

/* Is this the name of one node? Returns 0, or -1 (EINVAL) with a text. */
int hm_memmode_check_name(const char *node, struct hm_error *error);

/* Slurm's name of this node: what was given, or, where that is NULL, what Slurm says (slurm/nodename.h). Returns 0, or
 * -1 with a text. */
int hm_memmode_name(const char *given, char name[HM_MEMMODE_NAME], struct hm_error *error);

/* Tell slurmctld that the node `node` of Slurm's is in the mode of `state`: the same feature that slurmd gets from this
 * program. Waits up to 20 s. Returns 0, or -1 with a text. */
int hm_memmode_tell(const char *node, const struct hm_memmode_state *state, struct hm_error *error);

/* Have slurmctld offer the mode of the node, which was in `state` when it refused it, to no job until slurmd reports to
 * it again, or the node could take the mode. A process that outlives the caller does it, once slurmctld has
 * heard that the helper has failed. Returns 0, or -1 with a text. */
int hm_memmode_withdraw(const char *node, enum hm_memmode mode, const struct hm_memmode_state *state,
                        struct hm_error *error);

/* What that process does, in a minute or so. Returns 0; 1 where the mode is offered as before, as the node could take
 * it; or -1 with a text. */
int hm_memmode_keep_withdrawn(const char *node, enum hm_memmode mode, const struct hm_memmode_state *state,
                              struct hm_error *error);

/* Write the reason, a few words, to the job that waits for the node: its AdminComment, unless another has written that.
 * Returns 0, or -1 with a text. */
int hm_memmode_note_job(const char *node, enum hm_memmode mode, const char *reason, struct hm_error *error);

/* After a boot: is the node in the mode that it was asked to take before it? Where it is not, drain it as the node
 * `given` of Slurm's (as of hm_memmode_name). Where nothing was asked, nothing is done. Returns an exit status, with a
 * text where it is not 0.
 */
int hm_memmode_check(const struct hm_hardware *hardware, const struct hm_config *config, const char *given,
                     struct hm_error *error);

/* Reboot the node, which is to come back with these features of Slurm's (decide/boot.h); "": none were named. Returns
 * an exit status, with a text where it is not 0: refused, or the program that reboots has failed. */
int hm_memmode_reboot(const struct hm_hardware *hardware, const struct hm_config *config, const char *features,
                      struct hm_error *error);

/*
 * The same where the configuration has the mistake that the text tells; `defaults` is what hm_config_read then leaves.
 * Slurm has one RebootProgram for all nodes, so a node that has nothing to do with the mode of the memory boots all the
 * same, by systemctl: a file that has a mistake names no program that is run as root. Returns an exit status.
 */
int hm_memmode_reboot_without_config(const struct hm_hardware *hardware, const struct hm_config *defaults,
                                     const char *features, struct hm_error *mistake);

/* Print the state for people, or as JSON. Returns what hm_output_end takes as `result`. */
int hm_memmode_print(const struct hm_memmode_state *state, bool as_json);

#endif
