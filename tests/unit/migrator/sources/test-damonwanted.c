/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what the source damon and its broker say to each other about processes, which are fake, as is the connection.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/pagesize.h"
#include "base/process.h"
#include "migrator/damon/wire.h"
#include "migrator/sources/source.h"
#include "migrator/watch/resident.h"
#include "unit/lib/rows.h"

#define MOST (HM_DAMON_TARGETS + 10)
#define PID 1000      /* of the first process; the others follow */
#define MAPPED 100000 /* pages of each process, in one mapping */

enum kind { USUAL, FREE_SLOT, GONE, UNMAPPED, FOREIGN, ENDED };

static struct {
    uint64_t resident; /* pages */
    double cpu_s;
    enum kind kind;
} process[MOST];

static int end; /* the broker's end of the connection */
static time_t now_s;

int __wrap_clock_gettime(clockid_t clock, struct timespec *time);

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    (void)clock;
    *time = (struct timespec){.tv_sec = now_s};
    return 0;
}

int __wrap_socket(int domain, int type, int protocol);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t size);
int __wrap_stat(const char *path, struct stat *status);

/* Makes a connection in which the broker's answer already waits: a kdamond is lent. */
int __wrap_socket(int domain, int type, int protocol)
{
    struct hm_damon_answer answer = {0};
    size_t size = hm_damon_wire_begin(&answer, HM_DAMON_ANSWER, 1, 0);
    int pair[2];
    assert_int_equal(socketpair(domain, type, protocol, pair), 0);
    end = pair[1];
    assert_int_equal(send(end, &answer, size, 0), size);
    return pair[0];
}

int __wrap_connect(int fd, const struct sockaddr *address, socklen_t size)
{
    (void)fd, (void)address, (void)size;
    return 0;
}

int __wrap_stat(const char *path, struct stat *status)
{
    int pid;
    assert_int_equal(sscanf(path, "/proc/%d/maps", &pid), 1);
    assert_in_range(pid, PID, PID + MOST - 1);
    *status = (struct stat){.st_uid = geteuid() + (process[pid - PID].kind == FOREIGN)};
    errno = ENOENT;
    return process[pid - PID].kind == ENDED ? -1 : 0;
}

double __wrap_hm_process_cpu_s(pid_t pid);
double __wrap_hm_process_cpu_s(pid_t pid)
{
    return process[pid - PID].cpu_s;
}

uint64_t hm_resident_pages(pid_t pid)
{
    assert_in_range(pid, PID, PID + MOST - 1);
    return process[pid - PID].resident;
}

static void take(struct hm_damon_watch *watch, uint32_t n)
{
    struct hm_error error = {""};
    ssize_t size = recv(end, watch, sizeof(*watch), 0);
    assert_int_equal(size, hm_damon_wire_size(HM_DAMON_WATCH, n));
    assert_int_equal(hm_damon_wire_check_watch(watch, (size_t)size, &error), 0);
}

static struct hm_maps maps[MOST];

/* Returns the first n processes, and fills their maps. */
static const struct hm_ranks *first_of(uint32_t n)
{
    static struct hm_rank rank[MOST];
    static struct hm_range range[MOST];
    static struct hm_ranks ranks = {.rank = rank};
    ranks.n = n;
    for (uint32_t i = 0; i < n; i++) {
        enum kind kind = process[i].kind;
        rank[i] = (struct hm_rank){
            .pid = kind == FREE_SLOT ? 0 : PID + (pid_t)i, .start_time = 7 * i, .is_gone = kind == GONE};
        range[i] = (struct hm_range){(i + 1) * MAPPED, MAPPED};
        maps[i] =
            kind == UNMAPPED ? (struct hm_maps){0} : (struct hm_maps){.range = &range[i], .n = 1, .n_pages = MAPPED};
    }
    return &ranks;
}

static struct hm_source *connect_source(struct hm_damon_watch *watch)
{
    const struct hm_source_setup setup = {
        .overhead = 0.01, .n_cpus = 2, .interval_ms = 10000, .broker = "socket", .stop = -1};
    struct hm_error error = {""};
    char why[HM_WARNING];
    struct hm_source *source = hm_source_open("damon", &setup, why, &error);
    assert_non_null(source);
    take(watch, 0);
    return source;
}

/* Has the source ask for a watch of the first n processes; its request must name `n_wanted` of them. */
static void ask(uint32_t n, uint32_t n_wanted, struct hm_damon_watch *watch)
{
    struct hm_error error = {""};
    struct hm_source *source = connect_source(watch);
    assert_int_equal(source->update(source, first_of(n), maps, &error), 0);
    take(watch, n_wanted);
    source->close(source);
    close(end);
}

/* Checks that the request names process i, with its mapping. */
static void assert_is(const struct hm_damon_process *asked, uint32_t i)
{
    assert_int_equal(asked->pid, PID + i);
    assert_int_equal(asked->start_time, 7 * i);
    assert_int_equal(asked->n_ranges, 1);
    assert_int_equal(asked->range[0].start, (uint64_t)(i + 1) * MAPPED << hm_page_shift());
    assert_int_equal(asked->range[0].end, (uint64_t)(i + 2) * MAPPED << hm_page_shift());
}

static void the_smallest_are_left_out_up_to_a_hundredth(void **state)
{
    (void)state;
    static const struct {
        uint32_t n, n_wanted;
        uint64_t resident[4];
        uint32_t wanted[4];
    } rows[] = {
        {1, 1, {0}, {0}},
        {3, 3, {100, 100, 100}, {0, 1, 2}},
        {2, 1, {0, 7}, {1}},
        {4, 2, {600, 400, 4, 5}, {0, 1}}, /* 9 pages of 1009 are left out */
        /* 4 pages of 1000 are left out. 4 and 6 together would be 1 %, which is too much. */
        {4, 3, {500, 490, 4, 6}, {0, 1, 3}},
        {4, 2, {2, 50000, 300, 9000}, {1, 3}},
    };
    for (size_t row = 0; row < N_ROWS(rows); row++) {
        struct hm_damon_watch watch;
        memset(process, 0, sizeof(process));
        for (uint32_t i = 0; i < rows[row].n; i++)
            process[i].resident = rows[row].resident[i];
        ask(rows[row].n, rows[row].n_wanted, &watch);
        for (uint32_t i = 0; i < rows[row].n_wanted; i++)
            assert_is(&watch.process[i], rows[row].wanted[i]);
    }
}

/* Shells beside the ranks of a program: each would take as many looks as a rank. */
static void idle_processes_are_left_out_up_to_a_tenth(void **state)
{
    (void)state;
    static const struct {
        uint64_t resident[4];
        double cpu_s[4];
        uint32_t n_wanted, wanted[4];
    } rows[] = {
        {{1000, 1000, 60, 50}, {90, 80, 0, 1}, 2, {0, 1}},
        {{1000, 1000, 60, 50}, {90, 80, 0, 2}, 3, {0, 1, 3}},   /* the last one works */
        {{1000, 1000, 60, 50}, {90, 80, 0, -1}, 3, {0, 1, 3}},  /* or may have worked */
        {{1000, 1000, 600, 50}, {90, 80, 0, 0}, 3, {0, 1, 2}},  /* much memory is watched, idle or not */
        {{1000, 1000, 60, 50}, {0, 0, 0, 0}, 4, {0, 1, 2, 3}},  /* nobody has begun */
        {{1000, 1000, 120, 110}, {90, 80, 0, 0}, 3, {0, 1, 2}}, /* both together would be too much */
        {{1000, 1000, 10, 9}, {90, 80, 30, 40}, 2, {0, 1}},     /* small ones are left out though they work */
    };
    for (size_t row = 0; row < N_ROWS(rows); row++) {
        struct hm_damon_watch watch;
        memset(process, 0, sizeof(process));
        for (uint32_t i = 0; i < 4; i++) {
            process[i].resident = rows[row].resident[i];
            process[i].cpu_s = rows[row].cpu_s[i];
        }
        ask(4, rows[row].n_wanted, &watch);
        for (uint32_t i = 0; i < rows[row].n_wanted; i++)
            assert_is(&watch.process[i], rows[row].wanted[i]);
    }
}

static void what_cannot_be_watched_is_not_asked_for(void **state)
{
    (void)state;
    struct hm_damon_watch watch;
    for (int kind = USUAL; kind <= ENDED; kind++) {
        memset(process, 0, sizeof(process));
        process[0].resident = process[1].resident = process[2].resident = 1000;
        process[1].kind = (enum kind)kind;
        ask(3, kind == USUAL ? 3 : 2, &watch);
        assert_is(&watch.process[0], 0);
        assert_is(&watch.process[watch.head.n - 1], 2);
    }
}

/* The largest processes are asked for. With equal processes, the last two are left out: together less than 1 %. */
static void no_more_are_asked_for_than_a_message_holds(void **state)
{
    (void)state;
    struct hm_damon_watch watch;
    memset(process, 0, sizeof(process));
    for (uint32_t i = 0; i < MOST; i++)
        process[i].resident = 1000;
    ask(HM_DAMON_TARGETS, HM_DAMON_TARGETS - 2, &watch);
    process[MOST - 1].resident = 2000;
    ask(MOST, HM_DAMON_TARGETS, &watch);
    assert_is(&watch.process[0], MOST - 1);
    assert_is(&watch.process[1], 0);
}

/* What the processes that are not watched use is not known. The watched ones stay as the sizes of all vary a little. */
static void what_is_beyond_a_message_is_marked_and_told(void **state)
{
    (void)state;
    struct hm_damon_watch watch;
    struct hm_error error = {""};
    const struct hm_ranks *ranks = first_of(MOST);
    memset(process, 0, sizeof(process));
    for (uint32_t i = 0; i < MOST; i++)
        process[i].resident = 1000;
    struct hm_source *source = connect_source(&watch);
    assert_int_equal(source->update(source, ranks, maps, &error), 0);
    take(&watch, HM_DAMON_TARGETS);
    /* Two are left out on purpose, as they are small; the rest does not fit. */
    for (uint32_t i = 0; i < MOST; i++)
        assert_int_equal(ranks->rank[i].has_unseen, i >= HM_DAMON_TARGETS && i < MOST - 2);
    assert_string_equal(source->state.partly, "");
    for (uint32_t i = HM_DAMON_TARGETS; i < MOST; i++)
        process[i].resident = 1900;
    for (int i = 0; i < 8; i++)
        assert_int_equal(source->update(source, ranks, maps, &error), 0);
    assert_int_equal(recv(end, &watch, sizeof(watch), MSG_DONTWAIT), -1);
    assert_string_equal(source->state.partly,
                        "source damon looks at 256 of 265 processes, at most at 256: what the others use is not known");
    process[HM_DAMON_TARGETS].resident = 2100;
    for (int i = 0; i < 4; i++)
        assert_int_equal(source->update(source, ranks, maps, &error), 0);
    take(&watch, HM_DAMON_TARGETS);
    assert_false(ranks->rank[HM_DAMON_TARGETS].has_unseen);
    source->close(source);
    close(end);
}

/* The limit of 256 has nothing to do with them; and where there is nothing to watch, that is sent once. */
static void what_may_not_be_looked_at_is_told(void **state)
{
    (void)state;
    struct hm_damon_watch watch;
    struct hm_error error = {""};
    const struct hm_ranks *ranks = first_of(1);
    memset(process, 0, sizeof(process));
    process[0].resident = 1000;
    process[0].kind = FOREIGN;
    struct hm_source *source = connect_source(&watch);
    assert_int_equal(source->update(source, ranks, maps, &error), 0);
    take(&watch, 0);
    for (int i = 0; i < 8; i++)
        assert_int_equal(source->update(source, ranks, maps, &error), 0);
    assert_int_equal(recv(end, &watch, sizeof(watch), MSG_DONTWAIT), -1);
    assert_string_equal(source->state.partly, "source damon looks at 0 of 1 processes, not at those that are not "
                                              "dumpable: what the others use is not known");
    source->close(source);
    close(end);
}

/* What has changed in each row since the last update, of a step with two processes. The fourth update looks at their
 * sizes in any case. */
static void a_list_is_sent_where_processes_or_mappings_have_changed(void **state)
{
    (void)state;
    static const struct {
        uint32_t n, n_sent; /* processes; those of the list that is sent, 0: none is */
        uint64_t resident;  /* of the second process */
        enum kind kind;
        uint64_t elsewhere, alias; /* by how much its mapping is elsewhere; where it has another one, 0: it has none */
    } rows[] = {
        {2, 2, 1000, USUAL, 0, 0},
        {2, 2, 1000, USUAL, MAPPED, 0},
        {2, 0, 1000, USUAL, MAPPED, 0},
        {2, 0, 1, USUAL, MAPPED, 0},
        {2, 1, 1, USUAL, MAPPED, 0},
        {2, 2, 1000, USUAL, MAPPED, 50 * MAPPED},
        {2, 2, 1000, USUAL, MAPPED, 60 * MAPPED},
        {2, 1, 1000, GONE, MAPPED, 60 * MAPPED},
        {1, 0, 1000, USUAL, 0, 0},
        {2, 2, 1000, USUAL, 0, 0},
        {1, 1, 1000, USUAL, 0, 0},
    };
    struct hm_mapped alias = {.range.n_pages = MAPPED, .may_move = true, .is_alias = true};
    struct hm_damon_watch watch;
    struct hm_error error = {""};
    memset(process, 0, sizeof(process));
    process[0].resident = 1000;
    struct hm_source *source = connect_source(&watch);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        process[1].resident = rows[i].resident;
        process[1].kind = rows[i].kind;
        const struct hm_ranks *ranks = first_of(rows[i].n);
        maps[1].range[0].first += rows[i].n > 1 ? rows[i].elsewhere : 0;
        alias.range.first = rows[i].alias;
        maps[1].mapped = &alias;
        maps[1].n_mapped = maps[1].n_aliases = rows[i].alias > 0;
        assert_int_equal(source->update(source, ranks, maps, &error), 0);
        if (rows[i].n_sent > 0)
            take(&watch, rows[i].n_sent);
        if (recv(end, &watch, sizeof(watch), MSG_DONTWAIT) >= 0)
            fail_msg("row %zu: a list is sent", i);
    }
    source->close(source);
    close(end);
}

/* A process that does not let DAMON look at its memory holds up the broker. The broker is given up only if it watches
 * a process, and if no message from it waits to be read. */
static void a_broker_that_says_nothing_for_a_minute_is_given_up(void **state)
{
    (void)state;
    struct hm_damon_watch watch;
    struct hm_error error = {""};
    struct hm_damon_answer answer = {0};
    size_t size = hm_damon_wire_begin(&answer, HM_DAMON_ANSWER, 1, 0);
    memset(process, 0, sizeof(process));
    process[0].resident = 1000;
    struct hm_source *source = connect_source(&watch);
    now_s += 1000;
    assert_int_equal(source->update(source, first_of(1), maps, &error), 0);
    take(&watch, 1);
    now_s += 60;
    assert_int_equal(source->update(source, first_of(1), maps, &error), 0);
    now_s += 1;
    assert_int_equal(send(end, &answer, size, 0), size);
    assert_int_equal(source->update(source, first_of(1), maps, &error), 0);
    assert_int_equal(source->read(source, first_of(1), NULL, NULL, &error), 0);
    now_s += 60;
    assert_int_equal(source->update(source, first_of(1), maps, &error), 0);
    now_s += 1;
    assert_int_equal(source->update(source, first_of(1), maps, &error), -1);
    assert_int_equal(errno, ETIMEDOUT);
    assert_string_equal(error.text, "the DAMON broker has sent nothing for 60 s");
    source->close(source);
    close(end);
}

static struct hm_observation seen; /* the last one */
static size_t n_seen;

static void see(void *data, const struct hm_observation *observation, size_t n)
{
    (void)data;
    seen = n > 0 ? observation[n - 1] : seen;
    n_seen += n;
}

static pid_t first_pid; /* of the first slot, where that has another process by now; 0: it is the first one's */

/* Has the broker send a list of n regions, and the source read it. Returns how many observations it passes on. */
static size_t send_list(struct hm_source *source, struct hm_damon_list list, uint32_t generation, uint32_t n)
{
    struct hm_error error = {""};
    list.span_ms = 5000;
    for (uint32_t i = 0; i < n; i++)
        list.region[i] = (struct hm_damon_region){(uint64_t)(MAPPED + 16 * i) << hm_page_shift(),
                                                  (uint64_t)(MAPPED + 16 * (i + 1)) << hm_page_shift(), 5, 10, 16000};
    size_t size = hm_damon_wire_begin(&list, HM_DAMON_LIST, generation, n);
    assert_int_equal(send(end, &list, size, 0), size);
    n_seen = 0;
    const struct hm_ranks *ranks = first_of(1);
    ranks->rank[0].pid = first_pid ? first_pid : ranks->rank[0].pid;
    assert_int_equal(source->read(source, ranks, see, NULL, &error), 0);
    return n_seen;
}

/* Connects a source that watches one process. */
static struct hm_source *watch_one(struct hm_damon_watch *watch)
{
    struct hm_error error = {""};
    memset(process, 0, sizeof(process));
    process[0].resident = 1000;
    struct hm_source *source = connect_source(watch);
    assert_int_equal(source->update(source, first_of(1), maps, &error), 0);
    take(watch, 1);
    return source;
}

/* The source says when what it has said before cannot be compared with what it says now. */
static void a_list_is_passed_on(void **state)
{
    (void)state;
    static const struct {
        enum hm_damon_way way;
        uint32_t scatter;
        unsigned ways;
    } rows[] = {{HM_DAMON_BURSTS, 0, 0},
                {HM_DAMON_BURSTS, 1500, 0},
                {HM_DAMON_STEADY, 0, 1},
                {HM_DAMON_STEADY, 0, 1},
                {HM_DAMON_BURSTS, 0, 2}};
    struct hm_damon_watch watch;
    struct hm_source *source = watch_one(&watch);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        float excess[2];
        for (int k = 0; k < 2; k++) {
            struct hm_damon_list list = {.rounds = 3, .way = rows[i].way, .scatter = k * rows[i].scatter};
            size_t n = send_list(source, list, watch.head.generation, 1);
            list.rounds = 4;
            n += rows[i].way == HM_DAMON_BURSTS ? send_list(source, list, watch.head.generation, 0) : 0;
            assert_int_equal(n, 1);
            excess[k] = seen.excess;
        }
        assert_int_equal(seen.page, HM_PAGE(0, MAPPED));
        assert_int_equal(seen.n_pages, 16);
        assert_float_equal((1 + excess[1]) / (1 + excess[0]), 1 + rows[i].scatter / 1000.0, 1e-5);
        assert_int_equal(source->state.ways, rows[i].ways);
        assert_int_equal(source->state.rounds, rows[i].way == HM_DAMON_BURSTS ? 4 : 3);
        assert_int_equal(source->state.has_rounds, rows[i].way == HM_DAMON_BURSTS);
    }
    source->close(source);
    close(end);
}

/* A phase that ends in the middle of a round would take what was looked at once more for hotter. */
static void what_a_round_of_bursts_finds_is_passed_on_as_it_ends(void **state)
{
    (void)state;
    static const struct {
        enum hm_damon_way way;
        uint32_t rounds, later, n; /* rounds that have ended, lists of processes that came later, regions */
        size_t n_seen;
    } rows[] = {
        {HM_DAMON_BURSTS, 0, 0, 3, 0}, {HM_DAMON_BURSTS, 0, 0, 2, 0}, {HM_DAMON_BURSTS, 1, 0, 4, 5},
        {HM_DAMON_BURSTS, 2, 0, 0, 4}, {HM_DAMON_BURSTS, 2, 0, 1, 0}, {HM_DAMON_BURSTS, 2, 1, 2, 1},
        {HM_DAMON_STEADY, 2, 1, 3, 5}, {HM_DAMON_STEADY, 2, 1, 3, 3},
    };
    struct hm_damon_watch watch;
    struct hm_error error = {""};
    struct hm_source *source = watch_one(&watch);
    for (size_t i = 0, later = 0; i < N_ROWS(rows); i++) {
        for (; later < rows[i].later; later++) {
            process[1].resident = 1000;
            assert_int_equal(source->update(source, first_of(2), maps, &error), 0);
            take(&watch, 2);
        }
        const struct hm_damon_list list = {.rounds = rows[i].rounds, .way = rows[i].way};
        assert_int_equal(send_list(source, list, watch.head.generation, rows[i].n), rows[i].n_seen);
    }
    source->close(source);
    close(end);
}

static void what_a_round_has_found_is_not_told_of_the_next_process_in_the_slot(void **state)
{
    (void)state;
    struct hm_damon_watch watch;
    struct hm_source *source = watch_one(&watch);
    struct hm_damon_list list = {.rounds = 1, .way = HM_DAMON_BURSTS};
    assert_int_equal(send_list(source, list, watch.head.generation, 3), 0);
    first_pid = PID + MOST;
    list.rounds = 2;
    assert_int_equal(send_list(source, list, watch.head.generation, 3), 0);
    first_pid = 0;
    source->close(source);
    close(end);
}

/* A list of processes that was made anew may have other numbers for them: what is found goes by these, without another
 * list for the broker. */
static void what_is_found_goes_by_the_numbers_that_processes_have_now(void **state)
{
    (void)state;
    struct hm_damon_watch watch;
    struct hm_error error = {""};
    struct hm_source *source = watch_one(&watch);
    struct hm_rank rank[2] = {{.pid = 0}, first_of(1)->rank[0]};
    struct hm_maps moved[2] = {{.n = 0}, maps[0]};
    struct hm_rank_index by_pid = {PID, 1};
    const struct hm_ranks anew = {.rank = rank, .n = 2, .by_pid = &by_pid, .n_living = 1};
    assert_int_equal(source->update(source, &anew, moved, &error), 0);
    assert_int_equal(recv(end, &watch, sizeof(watch), MSG_DONTWAIT), -1);
    struct hm_damon_list list = {.span_ms = 5000, .way = HM_DAMON_STEADY};
    list.region[0] = (struct hm_damon_region){(uint64_t)MAPPED << hm_page_shift(),
                                              (uint64_t)(MAPPED + 16) << hm_page_shift(), 5, 10, 16000};
    size_t size = hm_damon_wire_begin(&list, HM_DAMON_LIST, watch.head.generation, 1);
    assert_int_equal(send(end, &list, size, 0), size);
    n_seen = 0;
    assert_int_equal(source->read(source, &anew, see, NULL, &error), 0);
    assert_int_equal(n_seen, 1);
    assert_int_equal(HM_PAGE_SPACE(seen.page), 1);
    source->close(source);
    close(end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smallest_are_left_out_up_to_a_hundredth),
        cmocka_unit_test(idle_processes_are_left_out_up_to_a_tenth),
        cmocka_unit_test(what_cannot_be_watched_is_not_asked_for),
        cmocka_unit_test(no_more_are_asked_for_than_a_message_holds),
        cmocka_unit_test(what_is_beyond_a_message_is_marked_and_told),
        cmocka_unit_test(what_may_not_be_looked_at_is_told),
        cmocka_unit_test(a_list_is_sent_where_processes_or_mappings_have_changed),
        cmocka_unit_test(a_broker_that_says_nothing_for_a_minute_is_given_up),
        cmocka_unit_test(a_list_is_passed_on),
        cmocka_unit_test(what_a_round_of_bursts_finds_is_passed_on_as_it_ends),
        cmocka_unit_test(what_is_found_goes_by_the_numbers_that_processes_have_now),
        cmocka_unit_test(what_a_round_has_found_is_not_told_of_the_next_process_in_the_slot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
