/* SPDX-License-Identifier: Apache-2.0 */
/* Guidance of a program while it runs: `hybridmem sites guide --online`, and what `record` has of it. */
#ifndef HM_SITES_COMMANDS_ONLINE_H
#define HM_SITES_COMMANDS_ONLINE_H

#include "guide.h"
#include "sites/online/online.h"

/* Runs the program. Returns the exit status. */
int hm_sites_online_run(struct hm_sites_guide *options);

/* Says in one line what came of it. */
void hm_sites_online_tell(const struct hm_online *online, const char *command);

/* Writes the same as a line "guided KEY=VALUE ...", for the job's record. Returns 0, or -1 with errno. */
int hm_sites_online_write(const struct hm_online *online, const char *packer, const char *source, int fd);

#endif
