/* SPDX-License-Identifier: Apache-2.0 */
#include "brokerlink.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/patience.h"

#define TOLD "told to end before the DAMON broker had answered"

int hm_broker_connect(const char *path, int stop, unsigned patience_s, struct hm_error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (path[0] == '\0')
        return hm_fail(error, ENOENT, "there is no DAMON broker");
    if (strlen(path) >= sizeof(address.sun_path))
        return hm_fail(error, ENAMETOOLONG, "%s is too long for a socket", path);
    memcpy(address.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct pollfd told = {.fd = stop, .events = POLLIN};
    uint64_t since_ns = 0;
    int result;
    /* EAGAIN: the queue is full of others who wait to be accepted. */
    do
        result = fd < 0 ? -1 : connect(fd, (struct sockaddr *)&address, sizeof(address));
    while (result != 0 && fd >= 0 && errno == EAGAIN && poll(&told, 1, 0) == 0 &&
           hm_patience_pause(&since_ns, patience_s));
    if (result == 0)
        return fd;
    if (told.revents)
        hm_fail(error, ECANCELED, TOLD);
    else
        hm_fail_errno(error, "the DAMON broker does not answer at %s", path);
    if (fd >= 0)
        close(fd);
    return -1;
}

int hm_broker_judge(const struct hm_damon_answer *answer, struct hm_error *error)
{
    return answer->number == 0 ? 0 : hm_fail(error, (int)answer->number, "%s", answer->text);
}

int hm_broker_wait(int fd, int stop, struct hm_error *error)
{
    struct pollfd events[2] = {{.fd = fd, .events = POLLIN}, {.fd = stop, .events = POLLIN}};
    int ready = poll(events, 2, HM_BROKER_PATIENCE_S * 1000);
    if (ready < 0)
        return hm_fail_errno(error, "cannot wait for the DAMON broker");
    if (ready == 0)
        return hm_fail(error, ETIMEDOUT, "the DAMON broker did not answer for %d s", HM_BROKER_PATIENCE_S);
    return events[1].revents ? hm_fail(error, ECANCELED, TOLD) : 0;
}
