/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes what a client sends to the DAMON broker over its socket. Only a right message keeps the connection open. Each
 * message gets one answer, which a client accepts. This broker has no DAMON, so it lends nothing, and no events
 * either.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "migrator/damon/broker/lease.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct hm_damon_broker broker = {.problem = {"there is no DAMON"}, .no_idle = {"there is no idle bitmap"}};

/* Has the client got one answer, with this errno and for the list that it numbered `generation`, and nothing else? */
static bool is_answered(int client, uint32_t generation, uint32_t number)
{
    static union hm_damon_message reply;
    ssize_t length = recv(client, &reply, sizeof(reply), MSG_DONTWAIT | MSG_TRUNC);
    return length > 0 && hm_damon_wire_check_reply(&reply, (size_t)length, NULL) == 0 &&
           reply.head.kind == HM_DAMON_ANSWER && reply.head.generation == generation && reply.head.n == 0 &&
           reply.answer.number == number && recv(client, &reply, sizeof(reply), MSG_DONTWAIT) < 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct hm_damon_lease lease;
    static int end[2] = {-1, -1};
    const struct hm_damon_peer peer = {.pid = getpid(), .uid = 1000, .owner = 1000, .pidfd = -1};
    struct hm_damon_head head = {0};
    if (size == 0 || (end[0] < 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, end) != 0))
        return 0;
    char *message = malloc(size);
    if (!message)
        return 0;
    memcpy(message, data, size);
    bool borrows = hm_damon_wire_check_borrow(message, size, NULL) == 0;
    bool is_right = borrows || hm_damon_wire_check_watch(message, size, NULL) == 0;
    uint32_t number = borrows ? EPERM : is_right ? ENODEV : EBADMSG;
    if (is_right)
        memcpy(&head, message, sizeof(head));
    hm_damon_lease_open(&lease, 1, end[0], &peer);
    if (send(end[1], message, size, 0) != (ssize_t)size || hm_damon_lease_serve(&broker, &lease) != is_right ||
        !is_answered(end[1], head.generation, number) || lease.n != 0 || lease.kdamond >= 0)
        abort();
    free(message);
    return 0;
}
