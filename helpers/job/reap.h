/* SPDX-License-Identifier: Apache-2.0 */
/* Bringing the node to what the living jobs own, after whatever crash. */
#ifndef HM_REAP_H
#define HM_REAP_H

#include "../core/config.h"

/*
 * Dead jobs lose their monitors and changes at once, and are finished where they are of another boot or have been dead
 * for `grace_s` seconds (an epilog may still come). Files and monitors of no job are removed, records that could not be
 * written are tried again. Failures go to the log. Can be run at any time, by several processes at once.
 */
void hm_reap(const struct hm_config *config, unsigned grace_s);

#endif
