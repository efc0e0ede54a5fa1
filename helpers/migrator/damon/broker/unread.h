/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections that were closed while events were in them that the client has not taken. The kernel keeps these as long
 * as somebody holds the client's end, and counts them as root's. So the broker keeps its end, by which it sees whether
 * they are still there, and lends a user no more while there are many.
 */
#ifndef HM_MIGRATOR_DAMON_BROKER_UNREAD_H
#define HM_MIGRATOR_DAMON_BROKER_UNREAD_H

#include "lease.h"

/* Has the client not taken all that it was sent? */
bool hm_damon_unread_is(int fd);
/* Closes the connection of a client that was lent events, for the client at least. */
void hm_damon_unread_close(struct hm_damon_broker *broker, int fd, uid_t owner);
/* May this user be lent events, as few of the earlier ones are not taken? */
bool hm_damon_unread_allows(struct hm_damon_broker *broker, uid_t owner);

#endif
