/* SPDX-License-Identifier: Apache-2.0 */
/* A DAMON broker's clients, for tests: processes of any user that connect. A test program must link with --wrap for
 * hm_damon_peer_find. */
#ifndef CLIENTSFIXTURE_H
#define CLIENTSFIXTURE_H

#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>

#include "migrator/damon/broker/clients.h"

#define MOST 80 /* connections of one test */
#define NOBODY 7777

extern struct hm_damon_clients *clients;
extern struct sockaddr_un address; /* of the broker's socket */
extern uid_t owner;                /* of the next process that connects; NOBODY: a process of no job */
extern int ended[2];               /* a pipe in place of that process's pidfd: readable once the other end has closed */
extern int connection[MOST], n_connections;

/* Set-up and tear-down for cmocka. After set-up, hm_damon_clients_serve returns after one round. */
int clients_set_up(void **state);
int clients_tear_down(void **state);

/* `n` processes of jobs of this user connect. Returns the number of the first connection. */
int come(uid_t user, int n);
/* How many places the user has. */
int count_of(uid_t user);

#endif
