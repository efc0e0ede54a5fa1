/* SPDX-License-Identifier: Apache-2.0 */
#include "leasefixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/pagesize.h"
#include "base/process.h"
#include "migrator/damon/folder.h"
#include "unit/lib/scratch.h"

#define OLD_S 1000 /* the time of the advance on the budget (base/advance.h) is over */

struct hm_damon_broker broker;
struct hm_damon_lease lease;
int lease_client;
uint32_t lease_looker;

void lease_begin_broker(void)
{
    broker = (struct hm_damon_broker){.n_wanted = 2, .layout = {.id = 1}};
    snprintf(broker.state_path, sizeof(broker.state_path), "%s/" HM_DAMON_STATE, scratch);
}

void lease_connect(uint32_t client, const struct hm_damon_peer *peer)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    hm_damon_lease_open(&lease, client, pair[0], peer);
    lease_client = pair[1];
}

int lease_set_up(void **state)
{
    (void)state;
    const struct hm_damon_peer peer = {
        .pid = getpid(), .uid = getuid(), .owner = getuid(), .pidfd = -1, .age_s = OLD_S};
    kernel = (struct kernel){.now_ns = SECOND_NS, .owner = getuid(), .accesses = HM_DAMON_VISIT_LOOKS / 2};
    kernel_set_number("0");
    lease_looker = HM_DAMON_BY_KDAMOND;
    lease_begin_broker();
    lease_connect(1, &peer);
    return 0;
}

int lease_tear_down(void **state)
{
    (void)state;
    hm_damon_lease_close(&broker, &lease);
    close(lease_client);
    return hm_damon_remove(broker.state_path, &broker.owned, NULL) || access(broker.state_path, F_OK) == 0;
}

struct hm_damon_answer lease_watch_ranges(const pid_t *pid, uint32_t n, uint32_t n_ranges)
{
    static struct hm_damon_watch watch;
    struct hm_damon_answer reply;
    watch = (struct hm_damon_watch){.interval_ms = 10000, .budget = 10000, .looker = lease_looker};
    for (uint32_t i = 0; i < n; i++) {
        struct hm_process its;
        assert_int_equal(hm_process_identify(pid[i], &its), 0);
        watch.process[i] = (struct hm_damon_process){.pid = pid[i], .start_time = its.start_time, .n_ranges = n_ranges};
        for (uint32_t r = 0; r < n_ranges; r++)
            watch.process[i].range[r] =
                (struct hm_damon_range){(2 * r + 1) * hm_page_size(), (2 * r + 2) * hm_page_size()};
    }
    size_t size = hm_damon_wire_begin(&watch, HM_DAMON_WATCH, 1, n);
    lease_hear_all();
    assert_int_equal(send(lease_client, &watch, size, 0), size);
    assert_true(hm_damon_lease_serve(&broker, &lease));
    assert_int_equal(recv(lease_client, &reply, sizeof(reply), MSG_DONTWAIT), sizeof(reply));
    assert_int_equal(reply.head.kind, HM_DAMON_ANSWER);
    return reply;
}

struct hm_damon_answer lease_watch(const pid_t *pid, uint32_t n)
{
    return lease_watch_ranges(pid, n, 2);
}

struct hm_damon_answer lease_ask(void)
{
    return lease_watch(NULL, 0);
}

union hm_damon_message *lease_hear(void)
{
    static union hm_damon_message message;
    memset(&message, 0, sizeof(message));
    ssize_t size = recv(lease_client, &message, sizeof(message), MSG_DONTWAIT);
    if (size > 0)
        assert_int_equal(hm_damon_wire_check_reply(&message, (size_t)size, NULL), 0);
    return &message;
}

void lease_hear_all(void)
{
    while (lease_hear()->head.kind != 0)
        ;
}

bool lease_work_after(uint64_t ns)
{
    kernel.now_ns += ns;
    return hm_damon_lease_work(&broker, &lease);
}

void lease_begin_bursts(void)
{
    uint32_t accesses = kernel.accesses;
    kernel.accesses = HM_DAMON_LOOKS;
    kernel.lists = (UINT32_C(1) << lease.n) - 1;
    lease_work_after(0);
    lease_work_after(SECOND_NS);
    assert_true(lease.is_bursting);
    kernel.accesses = accesses;
    kernel.lists = 0;
    lease_hear_all();
}
