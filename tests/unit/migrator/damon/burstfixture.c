/* SPDX-License-Identifier: Apache-2.0 */
#include "burstfixture.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/pagesize.h"

pid_t burst_child;

int burst_set_up(void **state)
{
    burst_child = fork();
    if (burst_child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pause();
        _exit(0);
    }
    return burst_child < 0 || lease_set_up(state) != 0 ? -1 : 0;
}

void burst_end_child(void)
{
    if (burst_child > 0) {
        kill(burst_child, SIGKILL);
        waitpid(burst_child, NULL, 0);
    }
    burst_child = 0;
}

int burst_tear_down(void **state)
{
    burst_end_child();
    return lease_tear_down(state);
}

void burst_watch(const pid_t *pid, uint32_t n, uint32_t n_live)
{
    struct hm_damon_answer reply = lease_watch(pid, n);
    assert_int_equal(reply.number, 0);
    assert_int_equal(reply.head.n, n_live);
    if (!lease.is_bursting)
        lease_begin_bursts();
}

void burst_watch_both(void)
{
    const pid_t pid[] = {getpid(), burst_child};
    burst_watch(pid, 2, 2);
}

void burst_watch_one(void)
{
    const pid_t pid = getpid();
    burst_watch(&pid, 1, 1);
}

bool burst_is_on(void)
{
    return strcmp(kernel_text("0/state"), "on") == 0;
}

void burst_end(uint32_t lists)
{
    assert_true(burst_is_on());
    kernel.lists = lists;
    kernel.told_ns = kernel.now_ns + LENGTH_NS;
    lease_work_after(LENGTH_NS);
    kernel.lists = 0;
}

void burst_assert_silent(void)
{
    const union hm_damon_message *message;
    while ((message = lease_hear())->head.kind != 0) {
        assert_int_equal(message->head.kind, HM_DAMON_LIST); /* a round has ended */
        assert_int_equal(message->head.n, 0);
    }
}

void burst_assert_list(uint32_t process)
{
    const struct hm_damon_list *list = &lease_hear()->list;
    assert_int_equal(list->head.kind, HM_DAMON_LIST);
    assert_int_equal(list->process, process);
    assert_int_equal(list->head.n, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(list->region[i].start, hm_page_size() * (i == 0 ? 1 : 3));
        assert_int_equal(list->region[i].end, hm_page_size() * (i == 0 ? 2 : 4));
        assert_int_equal(list->region[i].accesses, HM_DAMON_VISIT_LOOKS / 2);
    }
}
