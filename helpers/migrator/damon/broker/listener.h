/* SPDX-License-Identifier: Apache-2.0 */
/* The broker's lock and its socket, both in its run folder (--run-dir). The lock makes it the only broker there; at the
 * socket it waits for migrators. */
#ifndef HM_MIGRATOR_DAMON_BROKER_LISTENER_H
#define HM_MIGRATOR_DAMON_BROKER_LISTENER_H

#include <stdbool.h>

#include "base/error.h"

/*
 * Makes this the only broker in the folder, for as long as the returned descriptor is open. With `may_wait`, a broker
 * that is starting or ending is waited for, up to five seconds. Returns -1 with a text: EBUSY: there is another broker;
 * EPERM: the folder is not root's alone; else the errno of stat or open.
 */
int hm_damon_listener_lock(const char *run_dir, bool may_wait, struct hm_error *error);
/*
 * Makes the socket, which every user may connect to, in place of one that an earlier broker left. The caller holds the
 * lock. Returns the socket's descriptor, which is nonblocking, or -1 with a text.
 */
int hm_damon_listener_open(const char *run_dir, struct hm_error *error);
/* Removes the socket, and closes its descriptor. */
void hm_damon_listener_close(int listener);

#endif
