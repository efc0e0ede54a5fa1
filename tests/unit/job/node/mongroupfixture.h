/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A folder tree in resctrl's form, in which a group's files come and go with its folder, as in the kernel; and job 7 in
 * a new ledger, in its third run.
 */
#ifndef HM_UNIT_JOB_MONGROUPFIXTURE_H
#define HM_UNIT_JOB_MONGROUPFIXTURE_H

#include "job/ledger/ledger.h"

#define FEATURES "resctrl/info/L3_MON/mon_features"
#define GROUP "resctrl/mon_groups/hybridmem.7.2"

extern struct hm_config config;
extern struct hm_job job;
extern int mkdir_fails;        /* the errno with which no group can be made; 0: groups can be made */
extern const char *own_groups; /* the kernel's text about the calling process's groups; NULL: there is none */
extern bool child_hangs;       /* a child process that removes groups is killed at the end of its time */

int mongroup_set_up(void **state);

/* Makes a folder below the scratch folder. */
void mongroup_folder(const char *path);
/* Is there something of this name below the scratch folder? */
bool is_there(const char *path);
unsigned mode_of(const char *path);

#endif
