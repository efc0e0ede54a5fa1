/* SPDX-License-Identifier: Apache-2.0 */
#include "unread.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define MOST_OF_USER 4 /* connections of one user that are kept when nothing more is lent */

bool hm_damon_unread_is(int fd)
{
    int n_bytes;
    return ioctl(fd, SIOCOUTQ, &n_bytes) != 0 || n_bytes > 0;
}

void hm_damon_unread_close(struct hm_damon_broker *broker, int fd, uid_t owner)
{
    int at = 0;
    while (at < HM_DAMON_UNREAD && broker->unread[at].is_used)
        at++;
    if (at == HM_DAMON_UNREAD || !hm_damon_unread_is(fd)) {
        close(fd);
        return;
    }
    shutdown(fd, SHUT_RDWR);
    broker->unread[at].is_used = true;
    broker->unread[at].fd = fd;
    broker->unread[at].owner = owner;
}

bool hm_damon_unread_allows(struct hm_damon_broker *broker, uid_t owner)
{
    unsigned n = 0, n_own = 0;
    for (int i = 0; i < HM_DAMON_UNREAD; i++) {
        if (broker->unread[i].is_used && !hm_damon_unread_is(broker->unread[i].fd)) {
            close(broker->unread[i].fd);
            broker->unread[i].is_used = false;
        }
        n += broker->unread[i].is_used;
        n_own += broker->unread[i].is_used && broker->unread[i].owner == owner;
    }
    /* each client that has its place now may leave one more */
    return n_own < MOST_OF_USER && n <= HM_DAMON_UNREAD - HM_DAMON_CLIENTS;
}
