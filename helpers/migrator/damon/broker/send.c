/* SPDX-License-Identifier: Apache-2.0 */
#include "send.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/amount.h"
#include "target.h"

bool hm_damon_answer_send(int fd, uint32_t generation, uint32_t n, int number, const char *text)
{
    struct hm_damon_answer message = {.number = (uint32_t)number};
    size_t size = hm_damon_wire_begin(&message, HM_DAMON_ANSWER, generation, n);
    snprintf(message.text, sizeof(message.text), "%s", text);
    return send(fd, &message, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size;
}

bool hm_damon_lease_answer(const struct hm_damon_lease *lease, int number, const char *text)
{
    return hm_damon_answer_send(lease->fd, lease->generation, lease->n, number, text);
}

bool hm_damon_lease_owns(struct hm_damon_lease *lease, uint32_t process)
{
    if (lease->is_lost)
        return false;
    if (hm_damon_target_check(lease->target[process].pid, lease->peer.uid) == 0)
        return true;
    lease->is_lost = errno == EPERM;
    return false;
}

void hm_damon_lease_send(struct hm_damon_lease *lease, uint32_t process, const struct hm_damon_looked *looked,
                         const struct hm_damon_region *region, uint32_t n_regions)
{
    uint32_t done = 0;
    do {
        uint32_t n = n_regions - done < HM_DAMON_REGIONS ? n_regions - done : HM_DAMON_REGIONS;
        struct hm_damon_list message = {.process = lease->index[process],
                                        .rounds = lease->rounds,
                                        .span_ms = looked->span_ms > 0 ? looked->span_ms : 1,
                                        .way = looked->way,
                                        .scatter = looked->scatter,
                                        .lost = lease->unsent + (uint32_t)lease->tracepoint.lost,
                                        .cpu_ns = hm_damon_lease_cpu_ns(lease) + lease->broker_cpu_ns};
        size_t size = hm_damon_wire_begin(&message, HM_DAMON_LIST, lease->generation, n);
        if (n > 0)
            memcpy(message.region, &region[done], n * sizeof(message.region[0]));
        if (send(lease->fd, &message, size, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)size) {
            lease->unsent++;
            break;
        }
        done += n;
    } while (done < n_regions);
}
