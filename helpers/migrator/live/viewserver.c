/* SPDX-License-Identifier: Apache-2.0 */
#include "viewserver.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int hm_viewserver_open(struct hm_viewserver *server, uint32_t job_id, uint32_t step_id, struct hm_error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    uint64_t mark;
    for (int i = 0; i < HM_VIEWSERVER_CLIENTS; i++)
        server->client[i] = -1;
    server->listener = -1;
    if (getrandom(&mark, sizeof(mark), 0) != sizeof(mark))
        return hm_fail_errno(error, "no random number for the name of the socket that hybridmem top uses");
    int length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, HM_VIEW_SOCKET "%u.%u.%0*" PRIx64, job_id,
                          step_id, HM_VIEW_MARK, mark);
    server->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (server->listener < 0)
        return hm_fail_errno(error, "cannot make a socket");
    if (bind(server->listener, (struct sockaddr *)&address,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) == 0 &&
        listen(server->listener, HM_VIEWSERVER_CLIENTS) == 0)
        return 0;
    hm_fail_errno(error, "cannot listen as @%s", address.sun_path + 1);
    int number = errno;
    close(server->listener);
    server->listener = -1;
    errno = number;
    return -1;
}

void hm_viewserver_close(struct hm_viewserver *server)
{
    for (int i = 0; i < HM_VIEWSERVER_CLIENTS; i++)
        if (server->client[i] >= 0)
            close(server->client[i]);
    if (server->listener >= 0)
        close(server->listener);
    server->listener = -1;
}

void hm_viewserver_watch(const struct hm_viewserver *server, struct pollfd *fds)
{
    bool has_room = false;
    for (int i = 0; i < HM_VIEWSERVER_CLIENTS; i++) {
        bool is_used = server->listener >= 0 && server->client[i] >= 0;
        fds[1 + i] = (struct pollfd){.fd = is_used ? server->client[i] : -1, .events = POLLIN};
        has_room = has_room || !is_used;
    }
    fds[0] = (struct pollfd){.fd = has_room && !server->is_shut ? server->listener : -1, .events = POLLIN};
}

/* May the peer see the view? Anybody can connect to an abstract socket. */
static bool may_see(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && (peer.uid == 0 || peer.uid == geteuid());
}

static void take(struct hm_viewserver *server)
{
    int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    server->is_shut = fd < 0 || !may_see(fd);
    if (fd < 0)
        return;
    for (int i = 0; i < HM_VIEWSERVER_CLIENTS && !server->is_shut; i++) {
        if (server->client[i] < 0) {
            server->client[i] = fd;
            return;
        }
    }
    close(fd);
}

/*
 * Receives one message and sends one view. A client loses the connection if it has closed its end or sent an empty
 * message, or if its socket has no room for the view.
 */
static void reply(int *client, const struct hm_view *view)
{
    char ask[16];
    if (recv(*client, ask, sizeof(ask), MSG_DONTWAIT | MSG_TRUNC) > 0 &&
        send(*client, view, sizeof(*view), MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof(*view))
        return;
    close(*client);
    *client = -1;
}

void hm_viewserver_serve(struct hm_viewserver *server, const struct pollfd *fds, const struct hm_view *view)
{
    for (int i = 0; i < HM_VIEWSERVER_CLIENTS; i++)
        if (fds[1 + i].fd >= 0 && fds[1 + i].revents)
            reply(&server->client[i], view);
    if (fds[0].fd >= 0 && fds[0].revents)
        take(server);
}

static void begin_row(struct hm_view_row *row, const struct hm_extent *extent, pid_t pid)
{
    *row = (struct hm_view_row){.pid = (uint32_t)pid, .first = HM_PAGE_NUMBER(extent->first)};
}

static void extend_row(struct hm_view_row *row, const struct hm_extent *extent)
{
    row->n_pages = HM_PAGE_NUMBER(extent->first) + extent->n_pages - row->first;
    row->fast_pages += extent->tier_pages[0];
    for (int tier = 1; tier < HM_MAX_TIERS; tier++)
        row->slow_pages += extent->tier_pages[tier];
    row->reads += (float)extent->reads;
    row->writes += (float)extent->writes;
}

/* Fills rows of at most `join` extents each. Returns how many rows are needed. */
static size_t fill_rows(const struct hm_extent *extents, size_t count, const struct hm_ranks *ranks, size_t join,
                        struct hm_view_row *rows)
{
    size_t n = 0, joined = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t space = HM_PAGE_SPACE(extents[i].first);
        bool is_same = i > 0 && HM_PAGE_SPACE(extents[i - 1].first) == space;
        if (space >= ranks->n)
            break;
        if (!is_same || joined == join) {
            n++;
            joined = 0;
            if (n <= HM_VIEW_ROWS)
                begin_row(&rows[n - 1], &extents[i], ranks->rank[space].pid);
        }
        joined++;
        if (n <= HM_VIEW_ROWS)
            extend_row(&rows[n - 1], &extents[i]);
    }
    return n;
}

uint32_t hm_viewserver_rows(const struct hm_extent *extents, size_t count, const struct hm_ranks *ranks,
                            struct hm_view_row rows[HM_VIEW_ROWS])
{
    size_t join = 1;
    while (join * HM_VIEW_ROWS < count) /* with fewer in a row there would be too many rows */
        join *= 2;
    size_t n = fill_rows(extents, count, ranks, join, rows);
    for (; n > HM_VIEW_ROWS && join < count; n = fill_rows(extents, count, ranks, join, rows))
        join *= 2;
    return (uint32_t)(n < HM_VIEW_ROWS ? n : HM_VIEW_ROWS);
}
