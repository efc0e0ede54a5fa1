/* SPDX-License-Identifier: Apache-2.0 */
#include "send.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

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

static void count(struct hm_damon_lease *lease, const struct hm_damon_gathering *list)
{
    lease->n_lists++;
    for (uint32_t i = 0; i < list->n; i++) {
        double bytes = (double)(list->region[i].end - list->region[i].start);
        lease->touched_bytes += list->region[i].accesses > 0 ? bytes : 0;
        lease->accessed_bytes += bytes * list->region[i].accesses / HM_DAMON_LOOKS;
    }
}

void hm_damon_lease_send(void *data, const struct hm_damon_gathering *list)
{
    struct hm_damon_lease *lease = data;
    if (list->target >= lease->n || lease->is_lost)
        return;
    if (hm_damon_target_check(lease->target[list->target].pid, lease->peer.uid) != 0) {
        lease->is_lost = errno == EPERM;
        return;
    }
    count(lease, list);
    for (uint32_t done = 0; done < list->n;) {
        uint32_t n = list->n - done < HM_DAMON_REGIONS ? list->n - done : HM_DAMON_REGIONS;
        struct hm_damon_list message = {.process = lease->index[list->target],
                                        .look_us = lease->settings.look_us,
                                        .looks = HM_DAMON_LOOKS,
                                        .lost = lease->unsent + (uint32_t)lease->tracepoint.lost,
                                        .cpu_ns = hm_damon_lease_cpu_ns(lease) + lease->broker_cpu_ns,
                                        .is_last = done + n == list->n};
        size_t size = hm_damon_wire_begin(&message, HM_DAMON_LIST, lease->generation, n);
        memcpy(message.region, &list->region[done], n * sizeof(message.region[0]));
        if (send(lease->fd, &message, size, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)size) {
            lease->unsent++;
            return;
        }
        done += n;
    }
}
