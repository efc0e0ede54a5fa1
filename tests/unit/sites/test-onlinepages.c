/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests what online guidance takes the memory of processes that fork to be, and which of it is moved. A process and
 * its child are real, and so is what they share; on which nodes their pages are is a model.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/pagesize.h"
#include "sites/online/pages.h"
#include "unit/lib/rows.h"

#define COLD 16 /* pages of the first site, in the fast tier; those of the other one follow, in the slow one */
#define PAGES (2 * COLD)
#define COPIED 4 /* of the first ones: the child has written to them */
#define LATER 8  /* pages of a third site, behind these, that nobody has touched; they go to the fast tier then */
#define ALL (PAGES + LATER)
#define SITES 3

enum { PARENT, CHILD, N_PROCESSES };

static char *memory;
static pid_t pids[N_PROCESSES];
static int ends[N_PROCESSES]; /* a process ends when its pipe is closed */
static int node[N_PROCESSES][PAGES];
static unsigned refused; /* pages that were to be moved, and are shared */
static struct {
    size_t page;
    unsigned n_tries;
} stuck; /* a page of the parent's that is not moved, though nobody shares it */

static struct hm_watch watch;
static struct hm_watched watched[N_PROCESSES];
static struct hm_ranks ranks;
static struct hm_online_pages pages;

long __wrap_move_pages(int pid, unsigned long count, void **page, const int *to, int *status, int flags);
void __wrap_hm_nodes_refresh(struct hm_nodes *nodes);

void __wrap_hm_nodes_refresh(struct hm_nodes *nodes)
{
    (void)nodes;
}

/* As the kernel, which moves no page for a user that others map, too. */
long __wrap_move_pages(int pid, unsigned long count, void **page, const int *to, int *status, int flags)
{
    int process = pid == pids[CHILD] ? CHILD : PARENT;
    (void)flags;
    for (unsigned long i = 0; i < count; i++) {
        size_t at = (size_t)((char *)page[i] - memory) / hm_page_size();
        assert_true(at < ALL);
        if (at >= PAGES) {
            status[i] = -ENOENT;
            continue;
        }
        if (to && pids[CHILD] > 0 && at >= COPIED) {
            refused++;
            status[i] = -EACCES;
            continue;
        }
        if (to && process == PARENT && at == stuck.page) {
            stuck.n_tries++;
            status[i] = -EACCES;
            continue;
        }
        if (to)
            node[process][at] = to[i];
        status[i] = node[process][at];
    }
    return 0;
}

static void await_end(int end)
{
    char byte;
    while (read(end, &byte, 1) > 0)
        ;
}

static void live_as_child(int ready, const int end[N_PROCESSES][2])
{
    close(end[PARENT][1]);
    close(end[CHILD][1]);
    memset(memory, 2, COPIED * hm_page_size());
    pid_t self = getpid();
    if (write(ready, &self, sizeof(self)) == sizeof(self))
        await_end(end[CHILD][0]);
    _exit(0);
}

/* Has the memory, forks, and tells when the child has ended. */
static void live(int ready, const int end[N_PROCESSES][2])
{
    memset(memory, 1, PAGES * hm_page_size());
    pid_t child = fork();
    if (child == 0)
        live_as_child(ready, end);
    close(end[PARENT][1]);
    close(end[CHILD][1]);
    if (waitpid(child, NULL, 0) == child && write(ready, &child, sizeof(child)) == sizeof(child))
        await_end(end[PARENT][0]);
    _exit(0);
}

static int ready;

/* Writes a process's file as the library does. */
static int make_file(bool is_inherited)
{
    static struct hm_sites_process head;
    struct hm_sites_block block[SITES];
    head.n_blocks = SITES;
    for (uint32_t i = 0; i < SITES; i++)
        block[i] = (struct hm_sites_block){.address = (uintptr_t)memory + i * COLD * hm_page_size(),
                                           .bytes = (i < 2 ? COLD : LATER) * hm_page_size(),
                                           .entry = i,
                                           .is_placed = i == 2,
                                           .is_fast = i == 2 && !is_inherited,
                                           .is_inherited = is_inherited};
    int fd = memfd_create("process", MFD_CLOEXEC);
    assert_int_equal(write(fd, &head, sizeof(head)), sizeof(head));
    assert_int_equal(write(fd, block, sizeof(block)), sizeof(block));
    return fd;
}

/* Numbers the processes anew. */
static void follow(const pid_t *list, uint32_t n)
{
    hm_ranks_free(&ranks);
    assert_int_equal(hm_ranks_init_list(&ranks, list, n, geteuid(), NULL), 0);
    assert_int_equal(hm_ranks_update(&ranks, NULL), n);
}

static bool never(void *data)
{
    (void)data;
    return false;
}

static void open_pages(void)
{
    pages = (struct hm_online_pages){.ranks = &ranks};
    hm_devices_init(&pages.devices);
    memset(pages.nodes.index, -1, sizeof(pages.nodes.index));
    pages.nodes.n_tiers = 2;
    pages.nodes.n = 2;
    for (int i = 0; i < 2; i++) {
        pages.nodes.node[i] = (struct hm_node_state){
            .id = i, .tier = (unsigned)i, .total_bytes = UINT64_C(1) << 30, .free_bytes = UINT64_C(1) << 30};
        pages.nodes.index[i] = (int8_t)i;
    }
    assert_int_equal(hm_mover_init(&pages.mover, &pages.nodes, &ranks, NULL, never, NULL, NULL), 0);
}

static int set_up(void **state)
{
    int told[2], end[N_PROCESSES][2];
    (void)state;
    memory = mmap(NULL, ALL * hm_page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || madvise(memory, ALL * hm_page_size(), MADV_NOHUGEPAGE) != 0 || pipe(told) != 0 ||
        pipe(end[PARENT]) != 0 || pipe(end[CHILD]) != 0)
        return -1;
    pids[PARENT] = fork();
    if (pids[PARENT] == 0)
        live(told[1], end);
    close(told[1]);
    ready = told[0];
    for (int i = 0; i < N_PROCESSES; i++) {
        close(end[i][0]);
        ends[i] = end[i][1];
        watched[i] = (struct hm_watched){.fd = make_file(i == CHILD)};
        for (int k = 0; k < PAGES; k++)
            node[i][k] = k >= COLD;
    }
    if (read(ready, &pids[CHILD], sizeof(pid_t)) != sizeof(pid_t))
        return -1;
    for (int i = 0; i < N_PROCESSES; i++)
        watched[i].process.pid = pids[i];
    watch.watched = watched;
    watch.n = N_PROCESSES;
    refused = 0;
    stuck.page = SIZE_MAX;
    stuck.n_tries = 0;
    open_pages();
    follow(pids, N_PROCESSES);
    return 0;
}

static void end_child(void)
{
    pid_t ended;
    close(ends[CHILD]);
    ends[CHILD] = -1;
    assert_int_equal(read(ready, &ended, sizeof(ended)), sizeof(ended));
    pids[CHILD] = 0;
    watch.n = 1;
    follow(pids, 1);
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < N_PROCESSES; i++) {
        if (ends[i] >= 0)
            close(ends[i]);
        close(watched[i].fd);
    }
    waitpid(pids[PARENT], NULL, 0);
    close(ready);
    hm_online_pages_close(&pages);
    hm_ranks_free(&ranks);
    return munmap(memory, ALL * hm_page_size());
}

/* What a site has, in pages: that can be moved, and that cannot. */
static void check(uint32_t entry, unsigned tier, uint64_t movable, uint64_t fixed)
{
    for (unsigned t = 0; t < 2; t++) {
        uint64_t found = 0, shared = 0;
        for (size_t i = 0; i < pages.n; i++) {
            found += pages.entry[i] == entry ? pages.extent[i].tier_pages[t] : 0;
            shared += pages.entry[i] == entry ? pages.shared[i].tier_pages[t] : 0;
        }
        assert_int_equal(found, t == tier ? movable : 0);
        assert_int_equal(shared, t == tier ? fixed : 0);
    }
}

static void move_chosen(const bool is_fast[SITES], uint64_t capacity_pages, uint64_t budget)
{
    const double rank[SITES] = {0, 1};
    assert_int_equal(hm_online_pages_move(&pages, is_fast, rank, capacity_pages * hm_page_size(), budget), 0);
}

/* Moves the hot site up. */
static void move(uint64_t capacity_pages)
{
    move_chosen((const bool[SITES]){false, true}, capacity_pages, UINT64_MAX);
}

/* The memory is there once, and the copies of what was written to. Nothing that is shared is tried. */
static void test_what_processes_share_counts_once_and_stays(void **state)
{
    (void)state;
    assert_int_equal(hm_online_pages_read(&pages, &watch), 0);
    check(0, 0, 2 * COPIED, COLD - COPIED);
    check(1, 1, 0, COLD);
    move(PAGES);
    assert_int_equal(pages.mover.moved.promoted + pages.mover.moved.demoted, 0);
    assert_int_equal(refused, 0);
}

/* The fast tier is full with the copies and the memory that stays. */
static void test_what_is_not_shared_makes_room(void **state)
{
    (void)state;
    for (int i = 0; i < PAGES; i++)
        node[PARENT][i] = node[CHILD][i] = 0;
    assert_int_equal(hm_online_pages_read(&pages, &watch), 0);
    check(0, 0, 2 * COPIED, COLD - COPIED);
    check(1, 0, 0, COLD);
    move(COPIED);
    assert_int_equal(pages.mover.moved.demoted, COPIED);
}

/* How much of each site is in the fast tier, as decisions can leave it or the program can make it, and where it has to
 * come to: no more than the capacity, whoever is chosen. */
static const struct {
    const char *name;
    bool is_chosen[SITES];
    uint64_t was[2], capacity, budget, is[2];
    bool is_stuck; /* the first page of the first site stays where it is; for the last row, as that is remembered */
} grown[] = {
    {"a site is larger than the tier", {false, true}, {0, COLD}, 4, UINT64_MAX, {0, 4}, false},
    {"the other one goes first", {false, true}, {COLD, COLD}, COLD, UINT64_MAX, {0, COLD}, false},
    {"and then what was chosen", {false, true}, {COLD, COLD}, 4, UINT64_MAX, {0, 4}, false},
    {"the coldest of what was chosen", {true, true}, {COLD, COLD}, COLD, UINT64_MAX, {0, COLD}, false},
    {"it stays as far as there is room", {true, true}, {COLD, COLD}, COLD + 4, UINT64_MAX, {4, COLD}, false},
    {"what is too much makes no room for the rest of it", {false, true}, {0, COLD - 4}, 4, UINT64_MAX, {0, 4}, false},
    {"what others leave is room below the capacity only", {false, true}, {COLD, 4}, 8, UINT64_MAX, {0, 8}, false},
    {"nothing was chosen", {false, false}, {COLD, COLD}, 4, UINT64_MAX, {0, 4}, false},
    {"no more than is paid for", {true, true}, {COLD, COLD}, 4, 8, {COLD - 8, COLD}, false},
    {"what is too much goes before more comes", {false, true}, {8, 8}, 8, 4, {4, 8}, false},
    {"what does not leave takes room", {false, true}, {8, 4}, 8, UINT64_MAX, {1, 7}, true},
};

static void test_no_choice_has_more_than_the_capacity(void **state)
{
    (void)state;
    end_child();
    for (size_t i = 0; i < N_ROWS(grown); i++) {
        uint64_t is[2] = {0, 0};
        for (int k = 0; k < PAGES; k++)
            node[PARENT][k] = (uint64_t)(k % COLD) >= grown[i].was[k / COLD];
        assert_int_equal(hm_online_pages_read(&pages, &watch), 0);
        pages.mover.next_down = 0;
        stuck.page = grown[i].is_stuck ? 0 : SIZE_MAX;
        move_chosen(grown[i].is_chosen, grown[i].capacity, grown[i].budget);
        for (int k = 0; k < PAGES; k++)
            is[k / COLD] += node[PARENT][k] == 0;
        if (is[0] != grown[i].is[0] || is[1] != grown[i].is[1])
            fail_msg("%s: %d and %d pages are in the fast tier", grown[i].name, (int)is[0], (int)is[1]);
    }
}

/* What the third site touches goes to the fast tier: so much is no other's. */
static void test_what_is_left_of_the_fast_tier(void **state)
{
    (void)state;
    assert_int_equal(hm_online_pages_read(&pages, &watch), 0);
    assert_int_equal(pages.fast_pages, COLD + COPIED + LATER);
    end_child();
    assert_int_equal(hm_online_pages_read(&pages, &watch), 0);
    assert_int_equal(pages.fast_pages, COLD + LATER);
    move(0);
    assert_int_equal(hm_online_pages_read(&pages, &watch), 0);
    assert_int_equal(pages.fast_pages, LATER);
}

/* What was remembered of pages is of no use when the processes are others. */
static void test_what_was_shared_can_be_moved_when_the_other_has_ended(void **state)
{
    uint64_t hot = (uint64_t)(uintptr_t)memory / hm_page_size() + COLD;
    (void)state;
    assert_int_equal(hm_online_pages_read(&pages, &watch), 0);
    for (uint32_t space = 0; space < N_PROCESSES; space++)
        for (uint64_t i = 0; i < COLD; i++)
            hm_unmovable_add(&pages.mover.unmovable, HM_PAGE(space, hot + i), true);
    end_child();
    assert_int_equal(hm_online_pages_read(&pages, &watch), 0);
    check(0, 0, COLD, 0);
    check(1, 1, COLD, 0);
    move(COLD);
    assert_int_equal(pages.mover.moved.promoted, COLD);
    assert_int_equal(pages.mover.moved.demoted, COLD);
    for (int i = 0; i < PAGES; i++)
        assert_int_equal(node[PARENT][i], i < COLD);
    for (uint64_t i = 0; i < COLD; i++)
        assert_false(hm_unmovable_has(&pages.mover.unmovable, HM_PAGE(CHILD, hot + i)));
}

/* Is the parent's page of this number remembered after all was to go down? */
static bool is_remembered(uint64_t at)
{
    assert_int_equal(hm_online_pages_read(&pages, &watch), 0);
    pages.mover.next_down = 0; /* from the first page on */
    move(0);
    return hm_unmovable_has(&pages.mover.unmovable, HM_PAGE(PARENT, (uintptr_t)memory / hm_page_size() + at));
}

static void refuse(uint64_t at, bool is_sure)
{
    hm_unmovable_add(&pages.mover.unmovable, HM_PAGE(PARENT, (uintptr_t)memory / hm_page_size() + at), is_sure);
}

/* Pages were tried when they were shared; the child has its copy of the first ones by now. */
static void test_what_is_not_shared_any_more_is_tried_again(void **state)
{
    (void)state;
    refuse(COPIED, true);
    for (int i = 0; i < 3; i++) { /* as a program that forks again and again */
        refuse(0, true);
        node[PARENT][0] = 0;
        assert_false(is_remembered(0));
        assert_int_equal(node[PARENT][0], 1);
        assert_true(is_remembered(COPIED));
    }
}

/* A page that was busy twice can be pinned. And that one process alone has a page is no proof that the kernel moves it:
 * it can be of a huge page that others map. */
static void test_what_cannot_be_moved_for_another_reason_is_not_tried_again(void **state)
{
    (void)state;
    refuse(0, false);
    refuse(0, false);
    refuse(1, true);
    stuck.page = 1;
    for (int i = 0; i < 3; i++) {
        assert_true(is_remembered(0));
        assert_true(is_remembered(1));
    }
    assert_int_equal(stuck.n_tries, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_processes_share_counts_once_and_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_not_shared_makes_room, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_choice_has_more_than_the_capacity, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_left_of_the_fast_tier, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_was_shared_can_be_moved_when_the_other_has_ended, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_not_shared_any_more_is_tried_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_moved_for_another_reason_is_not_tried_again, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
