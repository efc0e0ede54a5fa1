/* SPDX-License-Identifier: Apache-2.0 */
#include "clockdecoder.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/installed.h"
#include "base/spawn.h"

/* Far more than an answer takes, also where the node is busy. For the first one, the program may have to be read from a
 * file server. */
#define FIRST_PATIENCE_MS 10000
#define PATIENCE_MS 2000

/* Returns false if there is no answer in time, or this process was told to end. */
static bool wait_for_answer(const struct hm_clock_decoder *decoder)
{
    struct pollfd events[2] = {{.fd = decoder->fd, .events = POLLIN}, {.fd = decoder->stop, .events = POLLIN}};
    return poll(events, 2, decoder->has_answered ? PATIENCE_MS : FIRST_PATIENCE_MS) > 0 && events[0].revents;
}

int hm_clock_decoder_ask(struct hm_clock_decoder *decoder, const struct hm_route_code *code, size_t n,
                         struct hm_route *route)
{
    uint8_t message[HM_ROUTE_BATCH * sizeof(struct hm_route)];
    ssize_t size, asked = (ssize_t)(n * sizeof(*code));
    if (decoder->fd >= 0 && send(decoder->fd, code, (size_t)asked, MSG_NOSIGNAL) == asked && wait_for_answer(decoder) &&
        (size = recv(decoder->fd, message, sizeof(message), MSG_DONTWAIT)) > 0 &&
        hm_route_unpack(message, (size_t)size, route, n)) {
        decoder->has_answered = true;
        return 0;
    }
    hm_clock_decoder_stop(decoder);
    return -1;
}

int hm_clock_decoder_start(struct hm_clock_decoder *decoder, int stop, struct hm_error *error)
{
    int pair[2];
    *decoder = (struct hm_clock_decoder){.pid = -1, .fd = -1, .stop = stop};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return hm_fail_errno(error, "cannot make a socket for hybridmem-decode");
    char name[] = "hybridmem-decode", *arguments[] = {name, NULL}, *environment[] = {NULL};
    const struct hm_spawn spawn = {.path = hm_decode_program(),
                                   .arguments = arguments,
                                   .environment = environment,
                                   .extra = -1,
                                   .input = pair[1],
                                   .errors = -1,
                                   .dies_with_parent = true};
    decoder->fd = pair[0];
    decoder->pid = hm_spawn_start(&spawn, error);
    close(pair[1]);
    if (decoder->pid < 0) {
        hm_clock_decoder_stop(decoder);
        return -1;
    }
    struct hm_route_code nothing = {0};
    struct hm_route none;
    if (hm_clock_decoder_ask(decoder, &nothing, 1, &none) != 0)
        return hm_fail(error, EPROTO, "%s does not answer: is it of this version, with its library capstone?",
                       spawn.path);
    return 0;
}

void hm_clock_decoder_stop(struct hm_clock_decoder *decoder)
{
    if (decoder->fd >= 0)
        close(decoder->fd);
    decoder->fd = -1;
    if (decoder->pid > 0) {
        kill(decoder->pid, SIGKILL);
        hm_spawn_wait(decoder->pid);
    }
    decoder->pid = -1;
}
