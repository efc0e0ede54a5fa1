/* SPDX-License-Identifier: Apache-2.0 */
/* Runs ipmctl, Intel's program for Optane modules. It is run as a program, as its library returns success and zeros
 * where there are no modules, and merges the errors of single modules. */
#ifndef HM_MEMMODE_IPMCTL_IPMCTL_H
#define HM_MEMMODE_IPMCTL_IPMCTL_H

#include "nvmxml.h"

enum hm_ipmctl_command {
    HM_IPMCTL_RESOURCES,
    HM_IPMCTL_GOAL,
    HM_IPMCTL_ABILITIES,
    HM_IPMCTL_MODULES,
    HM_IPMCTL_CREATE_FLAT,
    HM_IPMCTL_CREATE_CACHE,
    HM_IPMCTL_CREATE_MIXED,
    HM_IPMCTL_DELETE,
    HM_IPMCTL_COMMANDS
};

/* The command as an administrator would type it: "ipmctl show -goal". */
const char *hm_ipmctl_name(enum hm_ipmctl_command command);

/*
 * Run the program at `path` for this command, and parse its answer. `percent` of the modules becomes memory
 * (HM_IPMCTL_CREATE_MIXED only). Nobody but root may have been able to change the
 * program or a folder on its path. It runs with a /tmp and an IPC namespace of its own, as it takes orders from files
 * and shared memory there. Returns 0 (ipmctl may have reported an error: answers.h), or -1 with a text that begins with
 * the command's name. Only for programs with one thread.
 */
int hm_ipmctl_run(const char *path, enum hm_ipmctl_command command, unsigned percent, struct hm_nvmxml *answer,
                  struct hm_error *error);

#endif
