/* SPDX-License-Identifier: Apache-2.0 */
/* Tests libhybridmem when something is wrong, and with threads and processes. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "alloc/allocate.h"
#include "alloc/folders.h"
#include "twosockets.h"
#include "unit/lib/rows.h"

static void test_bad_input(void **state)
{
    static const struct {
        int policy;
        struct hm_alloc_hint hint;
        const char *text;
    } rows[] = {
        {0, {0}, "policy 0 is not known"},
        {6, {0}, "policy 6 is not known"},
        {-1, {0}, "policy -1 is not known"},
        {HM_ALLOC_SPILL, {.use = 2}, "use 2 is not known"},
        {HM_ALLOC_SPILL, {.use = -1}, "use -1 is not known"},
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
    /* No machine has so much memory, so malloc fails, too. */
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

/* Touching the page before or after an allocation ends the process instead of changing other data. */
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
            signal(SIGSEGV, SIG_DFL); /* replaces cmocka's handler */
            dup2(open("/dev/null", O_WRONLY), 2);
            memory[rows[i] < 0 ? -1 : (long)(4 * MIB)] = 1;
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
        hm_free((void *)(uintptr_t)memory);
    }
}

/* A failing system call does not make the allocation fail. */
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

/* A process can run out of mappings long before memory. malloc may then still have free memory of its own. */
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

/* The first folder is not on a DAX file system, and the second does not exist. The reason names both. */
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
            if (memory[i][0] != (char)i || (sizes[i] >= HM_ALLOC_LEAST && hm_allocated(memory[i]).bytes != sizes[i]))
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
    /* A child can use the library even if other threads of its parent were using it during fork. */
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

/* These fork handlers were registered before those of the library. So they run while the library holds its lock. */
__attribute__((constructor(101))) static void register_handlers(void)
{
    pthread_atfork(allocate_in_a_handler, allocate_in_a_handler, allocate_in_a_handler);
}

static void test_handlers_of_fork_may_allocate(void **state)
{
    int status;
    (void)state;
    handled = 0;
    alarm(120); /* ends the test if a lock is never released */
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        hm_free(hm_alloc(MIB, HM_ALLOC_SPILL, NULL));
        _exit(handled == 2 ? 0 : 1);
    }
    assert_int_equal(handled, 2); /* before the fork, and in the parent after it */
    assert_int_equal(waitpid(child, &status, 0), child);
    alarm(0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(handled, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_bad_input, twosockets_set_up),
        cmocka_unit_test_setup(test_small_sizes_are_mallocs, twosockets_set_up),
        cmocka_unit_test_setup(test_the_ends_are_guarded, twosockets_set_up),
        cmocka_unit_test_setup(test_fall_backs, twosockets_set_up),
        cmocka_unit_test_setup(test_malloc_is_asked_last, twosockets_set_up),
        cmocka_unit_test_setup(test_folders_that_cannot_be_used, twosockets_set_up),
        cmocka_unit_test_setup(test_threads, twosockets_set_up),
        cmocka_unit_test_setup(test_handlers_of_fork_may_allocate, twosockets_set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
