/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of hybridmem-job, which Slurm's hooks and people call. */
#ifndef HM_JOB_HOOKS_ARGUMENTS_H
#define HM_JOB_HOOKS_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>

enum hm_argument {
    HM_ARGUMENT_CONFIG,
    HM_ARGUMENT_REQUEST,
    HM_ARGUMENT_USER,
    HM_ARGUMENT_ACCOUNT,
    HM_ARGUMENT_PARTITION,
    HM_ARGUMENT_CLUSTER,
    HM_ARGUMENT_NODE,
    /* Arguments before this have a text, those from JOB to GRACE a number, and the rest no value. */
    HM_ARGUMENT_WORDS,
    HM_ARGUMENT_JOB = HM_ARGUMENT_WORDS,
    HM_ARGUMENT_UID,
    HM_ARGUMENT_GID,
    HM_ARGUMENT_RESTART,
    HM_ARGUMENT_HET_JOB,
    HM_ARGUMENT_END_TIME,
    HM_ARGUMENT_EXIT_STATUS,
    HM_ARGUMENT_GRACE,
    HM_ARGUMENT_BOOT,
    HM_ARGUMENT_WAIT,
    HM_ARGUMENT_HELP,
    HM_ARGUMENTS
};

struct hm_arguments {
    bool given[HM_ARGUMENTS];
    const char *word[HM_ARGUMENT_WORDS];
    uint64_t number[HM_ARGUMENTS];
};

/* Read the arguments behind the first word: of reap, or of a hook (begin, end). Return -1 to go on, or the exit status
 * where the help was asked for, or an argument is wrong; then it is said. */
int hm_arguments_of_reap(int argc, char **argv, struct hm_arguments *arguments);
int hm_arguments_of_hook(int argc, char **argv, struct hm_arguments *arguments);

/* Says what is wrong, and how the program is used. Returns the exit status. */
int hm_arguments_refuse(const char *why);

#endif
