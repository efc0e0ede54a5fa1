/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libhybridmem end to end on a machine of two sockets that is not there: the kernel's answers about nodes are ours, the
 * mappings are real.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "helpers/alloc/allocate.h"
#include "helpers/alloc/folders.h"
#include "helpers/alloc/kernel.h"
#include "helpers/alloc/layout.h"
#include "helpers/alloc/room.h"

#define N_ROWS(table) (sizeof(table) / sizeof((table)[0]))
#define MIB ((size_t)1 << 20)
#define HUGE (2 * MIB)
#define MOST_CALLS 8192

/* Nodes 0 and 1 are fast, 2 and 3 slow, of two sockets. */
static struct {
    uint64_t free_bytes[4];
    const char *allowed;
    int prefer_errno, where_errno, map_errno;
    size_t n_calls;
    struct {
        char *memory;
        size_t bytes;
        int node;
    } call[MOST_CALLS];
    pthread_mutex_t lock;
} machine = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* calloc is to say no to what nobody has, as it does without the sanitizer. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

struct hm_known *__real_hm_known_map(size_t bytes, size_t n_runs, size_t page, size_t huge_page);
struct hm_known *__wrap_hm_known_map(size_t bytes, size_t n_runs, size_t page, size_t huge_page);
struct hm_known *__wrap_hm_known_map(size_t bytes, size_t n_runs, size_t page, size_t huge_page)
{
    errno = machine.map_errno;
    return errno ? NULL : __real_hm_known_map(bytes, n_runs, page, huge_page);
}

void __wrap_hm_layout_read(struct hm_layout *layout);
void __wrap_hm_layout_read(struct hm_layout *layout)
{
    memset(layout, 0, sizeof(*layout));
    layout->fast_share = 1;
    for (int i = 0; i < 4; i++)
        layout->node[layout->n_nodes++] = (struct hm_layout_node){i, i % 2, i < 2, 0};
}

int __wrap_hm_kernel_allowed(struct hm_set *nodes);
int __wrap_hm_kernel_allowed(struct hm_set *nodes)
{
    if (!machine.allowed) {
        errno = EPERM;
        return -1;
    }
    return hm_set_parse(nodes, machine.allowed, NULL);
}

int __wrap_hm_kernel_free_bytes(int node, uint64_t *bytes);
int __wrap_hm_kernel_free_bytes(int node, uint64_t *bytes)
{
    *bytes = machine.free_bytes[node];
    return 0;
}

int __wrap_hm_kernel_prefer(void *memory, size_t bytes, int node);
int __wrap_hm_kernel_prefer(void *memory, size_t bytes, int node)
{
    errno = machine.prefer_errno;
    if (errno)
        return -1;
    pthread_mutex_lock(&machine.lock);
    if (machine.n_calls < MOST_CALLS) {
        machine.call[machine.n_calls].memory = memory;
        machine.call[machine.n_calls].bytes = bytes;
        machine.call[machine.n_calls++].node = node;
    }
    pthread_mutex_unlock(&machine.lock);
    return 0;
}

/* A page is where it was put, but that its first byte says whether it was touched. */
int __wrap_hm_kernel_where(size_t count, void *const *page, int *node);
int __wrap_hm_kernel_where(size_t count, void *const *page, int *node)
{
    errno = machine.where_errno;
    if (errno)
        return -1;
    for (size_t i = 0; i < count; i++) {
        const char *at = page[i];
        node[i] = -ENOENT;
        for (size_t call = 0; call < machine.n_calls && *at; call++)
            if (at >= machine.call[call].memory && at < machine.call[call].memory + machine.call[call].bytes)
                node[i] = machine.call[call].node;
    }
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(machine.free_bytes); i++)
        machine.free_bytes[i] = 1024 * MIB;
    machine.allowed = "0-3";
    machine.prefer_errno = machine.where_errno = machine.map_errno = 0;
    machine.n_calls = 0;
    return 0;
}

static void test_bad_input(void **state)
{
    static const struct {
        int policy;
        struct hm_alloc_hint hint;
        const char *text;
    } rows[] = {
        {0, {0}, "policy 0 is none"},
        {6, {0}, "policy 6 is none"},
        {-1, {0}, "policy -1 is none"},
        {HM_ALLOC_SPILL, {.use = 2}, "use 2 is none"},
        {HM_ALLOC_SPILL, {.use = -1}, "use -1 is none"},
        {HM_ALLOC_SPILL, {.fast_share = 1.5}, "fast_share 1.5 is out of range"},
        {HM_ALLOC_SPILL, {.fast_share = -1}, "fast_share -1 is out of range"},
        {HM_ALLOC_SPILL, {.fast_share = 0. / 0.}, "out of range"},
        {HM_ALLOC_SPILL, {.reserved = 7}, "reserved field is 7"},
    };
    struct hm_alloc_where where;
    struct hm_alloc_run run;
    char byte;
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        enum hm_alloc_policy policy = (enum hm_alloc_policy)rows[i].policy;
        errno = 0;
        assert_null(hm_alloc(MIB, policy, &rows[i].hint));
        assert_int_equal(errno, EINVAL);
        assert_non_null(strstr(hm_alloc_reason(), rows[i].text));
    }
    errno = 0;
    assert_int_equal(hm_where(&byte, &where), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(hm_where_run(&byte, 0, &run), -1);
    hm_free(NULL);
    /* Nobody has so much; malloc has not either. */
    errno = 0;
    assert_null(hm_alloc(SIZE_MAX, HM_ALLOC_SPILL, NULL));
    assert_int_equal(errno, ENOMEM);
    assert_null(hm_alloc((size_t)PTRDIFF_MAX, HM_ALLOC_SPILL, NULL));
    assert_int_equal(errno, ENOMEM);
}

static void test_small_sizes_are_mallocs(void **state)
{
    static const size_t rows[] = {0, 1, HM_ALLOC_LEAST - 1};
    struct hm_alloc_where where;
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char *memory = hm_alloc(rows[i], HM_ALLOC_SLOW, NULL);
        assert_non_null(memory);
        assert_non_null(strstr(hm_alloc_reason(), "malloc"));
        assert_int_equal(machine.n_calls, 0);
        assert_int_equal(hm_where(memory, &where), -1);
        if (rows[i] > 0)
            assert_int_equal(memory[rows[i] - 1], 0);
        hm_free(memory);
    }
}

static void test_alignment_zeros_and_ends(void **state)
{
    static const size_t rows[] = {HM_ALLOC_LEAST, HM_ALLOC_LEAST + 1, HUGE - 1, HUGE, HUGE + 1, 65 * MIB + 4095};
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char *memory = hm_alloc(rows[i], HM_ALLOC_SPILL, NULL);
        assert_non_null(memory);
        assert_string_equal(hm_alloc_reason(), "");
        assert_int_equal((uintptr_t)memory % (rows[i] >= HUGE ? HUGE : 4096), 0);
        for (size_t at = 0; at < rows[i]; at += 4096)
            assert_int_equal(memory[at]++, 0);
        memory[rows[i] - 1] = 1;
        assert_int_equal(hm_allocated_bytes(memory), rows[i]);
        hm_free(memory);
        assert_int_equal(hm_allocated_bytes(memory), 0);
    }
}

/* Each byte before and behind ends the process instead of changing something else. */
static void test_the_ends_are_guarded(void **state)
{
    static const long rows[] = {-1, 0};
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        volatile char *memory = hm_alloc(4 * MIB, HM_ALLOC_SPILL, NULL);
        int status;
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            struct rlimit none = {0, 0};
            setrlimit(RLIMIT_CORE, &none);
            signal(SIGSEGV, SIG_DFL); /* cmocka has its own */
            dup2(open("/dev/null", O_WRONLY), 2);
            memory[rows[i] < 0 ? -1 : (long)(4 * MIB)] = 1;
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
        hm_free((void *)(uintptr_t)memory);
    }
}

/* Each page of the allocation belongs to one run, and the kernel was told of each run as it is. */
static void check_runs(char *memory, size_t bytes, uint64_t on_node[4])
{
    struct hm_alloc_run run;
    size_t offset = 0;
    memset(on_node, 0, 4 * sizeof(*on_node));
    for (size_t call = 0; offset < bytes; call++) {
        assert_int_equal(hm_where_run(memory, offset, &run), 0);
        assert_int_equal(run.offset, offset);
        assert_int_equal(run.folder, -1);
        assert_true(call < machine.n_calls);
        assert_ptr_equal(machine.call[call].memory, memory + offset);
        assert_int_equal(machine.call[call].bytes, run.bytes);
        assert_int_equal(machine.call[call].node, run.node);
        on_node[run.node] += run.bytes;
        offset += run.bytes;
    }
    assert_int_equal(hm_where_run(memory, offset, &run), -1);
}

static void test_blocks_are_where_they_were_put(void **state)
{
    static const struct {
        enum hm_alloc_policy policy;
        struct hm_alloc_hint hint;
        size_t free_mib[4], mib, on_mib[4];
        const char *reason;
    } rows[] = {
        {HM_ALLOC_SPILL, {.block_bytes = MIB}, {99, 99, 99, 99}, 64, {32, 32, 0, 0}, ""},
        {HM_ALLOC_SPILL, {.block_bytes = MIB}, {8, 16, 99, 99}, 64, {8, 16, 24, 16}, ""},
        {HM_ALLOC_SPILL, {.block_bytes = MIB, .fast_share = .75}, {99, 99, 99, 99}, 64, {24, 24, 8, 8}, ""},
        {HM_ALLOC_FAST, {.block_bytes = MIB}, {8, 8, 99, 99}, 64, {8, 8, 24, 24}, "48.0 MiB of 64.0 MiB"},
        {HM_ALLOC_SLOW, {.block_bytes = MIB}, {99, 99, 99, 99}, 64, {0, 0, 32, 32}, ""},
        {HM_ALLOC_INTERLEAVE, {.block_bytes = MIB}, {99, 99, 99, 99}, 64, {16, 16, 16, 16}, ""},
        {HM_ALLOC_SPLIT, {.use = HM_ALLOC_READ_MOSTLY}, {99, 99, 99, 99}, 64, {0, 0, 32, 32}, ""},
        {HM_ALLOC_SPLIT, {.use = HM_ALLOC_WRITE_INTENSIVE}, {99, 99, 99, 99}, 64, {32, 32, 0, 0}, ""},
        {HM_ALLOC_SPILL, {.block_bytes = 32 * MIB}, {32, 0, 0, 0}, 96, {96, 0, 0, 0}, "no node has room for 64.0 MiB"},
    };
    static struct hm_alloc_where where;
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        uint64_t on_node[4];
        print_message("row %zu\n", i);
        machine.n_calls = 0;
        for (size_t node = 0; node < 4; node++)
            machine.free_bytes[node] = rows[i].free_mib[node] * MIB;
        char *memory = hm_alloc(rows[i].mib * MIB, rows[i].policy, &rows[i].hint);
        assert_non_null(memory);
        assert_int_equal(rows[i].reason[0] == '\0', hm_alloc_reason()[0] == '\0');
        assert_non_null(strstr(hm_alloc_reason(), rows[i].reason));
        check_runs(memory, rows[i].mib * MIB, on_node);
        memset(memory, 1, rows[i].mib * MIB / 2);
        assert_int_equal(hm_where(memory, &where), 0);
        assert_int_equal(where.bytes, rows[i].mib * MIB);
        assert_int_equal(where.policy, rows[i].policy);
        assert_string_equal(where.reason, hm_alloc_reason());
        assert_int_equal(where.absent_bytes, rows[i].mib * MIB / 2);
        uint64_t wanted = 0, resident = 0;
        for (int row = 0; row < where.n_nodes; row++) {
            assert_int_equal(where.node[row].wanted_bytes, on_node[where.node[row].node]);
            wanted += where.node[row].wanted_bytes;
            resident += where.node[row].resident_bytes;
        }
        assert_int_equal(wanted, rows[i].mib * MIB);
        assert_int_equal(resident, rows[i].mib * MIB / 2);
        if (i + 1 < N_ROWS(rows)) /* who has only one socket's turn starts where the last one ended */
            for (size_t node = 0; node < 4; node++)
                assert_int_equal(on_node[node], rows[i].on_mib[node] * MIB);
        hm_free(memory);
    }
}

/* What was promised and is not touched yet counts; what was given back does not. */
static void test_two_allocations_do_not_want_the_same_room(void **state)
{
    const struct hm_alloc_hint hint = {.block_bytes = MIB};
    uint64_t on_node[4];
    (void)state;
    machine.free_bytes[0] = machine.free_bytes[1] = 48 * MIB;
    char *first = hm_alloc(64 * MIB, HM_ALLOC_SPILL, &hint);
    machine.n_calls = 0;
    char *second = hm_alloc(64 * MIB, HM_ALLOC_SPILL, &hint);
    check_runs(second, 64 * MIB, on_node);
    assert_int_equal(on_node[0] + on_node[1], 32 * MIB);
    hm_free(first);
    machine.n_calls = 0;
    first = hm_alloc(64 * MIB, HM_ALLOC_SPILL, &hint);
    check_runs(first, 64 * MIB, on_node);
    assert_int_equal(on_node[0] + on_node[1], 64 * MIB);
    /* All of both is touched by now: no promise is taken off twice. */
    machine.free_bytes[0] = machine.free_bytes[1] = 0;
    hm_free(second);
    hm_free(first);
    machine.free_bytes[0] = machine.free_bytes[1] = 48 * MIB;
    machine.n_calls = 0;
    first = hm_alloc(96 * MIB, HM_ALLOC_SPILL, &hint);
    check_runs(first, 96 * MIB, on_node);
    assert_int_equal(on_node[0] + on_node[1], 96 * MIB);
    hm_free(first);
}

static void test_room_of_a_node(void **state)
{
    static const struct {
        uint64_t free, most, promised, room;
    } rows[] = {{100, 100, 0, 100}, {100, 100, 30, 70}, {70, 100, 30, 70}, {50, 100, 30, 50}, {5, 100, 300, 0}};
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++)
        assert_int_equal(hm_room_of(rows[i].free, rows[i].most, rows[i].promised), rows[i].room);
}

/* One block each: the sockets are used in turn over allocations. */
static void test_small_allocations_spread(void **state)
{
    void *memory[8];
    int on_node[4] = {0};
    (void)state;
    for (size_t i = 0; i < N_ROWS(memory); i++)
        memory[i] = hm_alloc(MIB, HM_ALLOC_SPILL, NULL);
    for (size_t i = 0; i < N_ROWS(memory); i++) {
        struct hm_alloc_run run;
        assert_int_equal(hm_where_run(memory[i], 0, &run), 0);
        on_node[run.node]++;
        hm_free(memory[i]);
    }
    assert_int_equal(on_node[0], 4);
    assert_int_equal(on_node[1], 4);
}

/* No call that fails takes the memory away. */
static void test_fall_backs(void **state)
{
    static struct hm_alloc_where where;
    struct hm_alloc_run run;
    (void)state;
    machine.prefer_errno = EPERM;
    char *memory = hm_alloc(4 * MIB, HM_ALLOC_SPILL, NULL);
    assert_non_null(memory);
    assert_non_null(strstr(hm_alloc_reason(), "does not bind memory"));
    memset(memory, 1, 4 * MIB);
    assert_int_equal(hm_where(memory, &where), 0);
    assert_int_equal(where.block_bytes, 0);
    assert_int_equal(hm_where_run(memory, 0, &run), -1);
    machine.where_errno = EPERM;
    assert_int_equal(hm_where(memory, &where), -1);
    assert_int_equal(errno, EPERM);
    hm_free(memory);
    machine.prefer_errno = 0;
    machine.allowed = NULL;
    memory = hm_alloc(4 * MIB, HM_ALLOC_SPILL, NULL);
    assert_non_null(strstr(hm_alloc_reason(), "does not tell the nodes"));
    hm_free(memory);
    machine.allowed = "7";
    memory = hm_alloc(4 * MIB, HM_ALLOC_SPILL, NULL);
    assert_non_null(memory);
    assert_non_null(strstr(hm_alloc_reason(), "no node of the fast tier"));
    hm_free(memory);
}

/* Mappings run out long before memory does: malloc may still have some. */
static void test_malloc_is_asked_last(void **state)
{
    struct hm_alloc_where where;
    (void)state;
    machine.map_errno = ENOMEM;
    char *memory = hm_alloc(HM_ALLOC_LEAST, HM_ALLOC_SPILL, NULL);
    assert_non_null(memory);
    assert_non_null(strstr(hm_alloc_reason(), "malloc was asked"));
    assert_int_equal(hm_where(memory, &where), -1);
    assert_int_equal(memory[HM_ALLOC_LEAST - 1], 0);
    hm_free(memory);
}

/* The first folder is on no DAX file system here, the second is not there: slow nodes, and both reasons. */
static void test_folders_that_cannot_be_used(void **state)
{
    struct hm_folders folders;
    char reason[HM_ALLOC_REASON] = "";
    (void)state;
    hm_folders_open(&folders, NULL, reason);
    assert_int_equal(folders.n, 0);
    hm_folders_open(&folders, "::", reason);
    assert_int_equal(folders.n, 0);
    assert_string_equal(reason, "");
    hm_folders_open(&folders, "/tmp:/nonexistent", reason);
    assert_int_equal(folders.n, 0);
    assert_non_null(strstr(reason, "/tmp is not on a DAX file system"));
    assert_non_null(strstr(reason, "/nonexistent: No such file"));
    hm_folders_close(&folders);
}

static void *allocate_and_free(void *unused)
{
    static const size_t sizes[] = {HM_ALLOC_LEAST, MIB, 3 * MIB, 64, 9 * MIB};
    char *memory[N_ROWS(sizes)];
    (void)unused;
    for (int round = 0; round < 50; round++) {
        for (size_t i = 0; i < N_ROWS(sizes); i++) {
            memory[i] = hm_alloc(sizes[i], i % 2 ? HM_ALLOC_SPILL : HM_ALLOC_INTERLEAVE, NULL);
            memory[i][0] = memory[i][sizes[i] - 1] = (char)i;
        }
        for (size_t i = 0; i < N_ROWS(sizes); i++) {
            if (memory[i][0] != (char)i || (sizes[i] >= HM_ALLOC_LEAST && hm_allocated_bytes(memory[i]) != sizes[i]))
                return memory[i];
            hm_free(memory[i]);
        }
    }
    return NULL;
}

static void test_threads(void **state)
{
    pthread_t thread[4];
    void *failed;
    (void)state;
    for (size_t i = 0; i < N_ROWS(thread); i++)
        assert_int_equal(pthread_create(&thread[i], NULL, allocate_and_free, NULL), 0);
    /* A child of a process whose other threads are in the library at this time can use it. */
    for (int i = 0; i < 20; i++) {
        int status;
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            hm_free(hm_alloc(MIB, HM_ALLOC_SPILL, NULL));
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    for (size_t i = 0; i < N_ROWS(thread); i++) {
        assert_int_equal(pthread_join(thread[i], &failed), 0);
        assert_null(failed);
    }
}

static int handled;

static void allocate_in_a_handler(void)
{
    hm_free(hm_alloc(MIB, HM_ALLOC_SPILL, NULL));
    handled++;
}

/* They were registered before the library's own, which has its lock while they run. */
static void test_handlers_of_fork_may_allocate(void **state)
{
    int status;
    (void)state;
    handled = 0;
    alarm(120); /* a lock that is not given would be waited for without end */
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        hm_free(hm_alloc(MIB, HM_ALLOC_SPILL, NULL));
        _exit(handled == 2 ? 0 : 1);
    }
    assert_int_equal(handled, 2); /* before, and in the parent after it */
    assert_int_equal(waitpid(child, &status, 0), child);
    alarm(0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(handled, 2);
}

int main(void)
{
    pthread_atfork(allocate_in_a_handler, allocate_in_a_handler, allocate_in_a_handler);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_bad_input, set_up),
        cmocka_unit_test_setup(test_small_sizes_are_mallocs, set_up),
        cmocka_unit_test_setup(test_alignment_zeros_and_ends, set_up),
        cmocka_unit_test_setup(test_the_ends_are_guarded, set_up),
        cmocka_unit_test_setup(test_blocks_are_where_they_were_put, set_up),
        cmocka_unit_test_setup(test_two_allocations_do_not_want_the_same_room, set_up),
        cmocka_unit_test_setup(test_room_of_a_node, set_up),
        cmocka_unit_test_setup(test_small_allocations_spread, set_up),
        cmocka_unit_test_setup(test_fall_backs, set_up),
        cmocka_unit_test_setup(test_malloc_is_asked_last, set_up),
        cmocka_unit_test_setup(test_folders_that_cannot_be_used, set_up),
        cmocka_unit_test_setup(test_threads, set_up),
        cmocka_unit_test_setup(test_handlers_of_fork_may_allocate, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
