/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how often hybridmem-decode is asked about the code of four processes of one program, and with which code the
 * CPU time that is left is spent. The clocks, and what may be read, are simulated; the processes and hybridmem-decode
 * are real. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/installed.h"
#include "base/pagesize.h"
#include "migrator/sources/clockcode.h"
#include "migrator/sources/clockdecoder.h"
#include "migrator/watch/powers.h"

#define RANKS 4
#define PLACES 24 /* in the code of each */
#define R(number) (UINT64_C(0x10000) * ((number) + 1))
#define DISTANCE 0x20 /* of the access's address from the place */

#if defined(__x86_64__)
static const uint8_t access_code[] = {0x48, 0x8b, 0x05, 0x19, 0, 0, 0, 0xc3}; /* mov 0x19(%rip),%rax; ret */
static const uint8_t end_code[] = {0xc3, 0xc3, 0xc3, 0xc3};                   /* ret, four times */
#define ADDRESS(place) ((place) + DISTANCE)
#else
static const uint8_t access_code[] = {0x20, 0x00, 0x40, 0xf9, 0xc0, 0x03, 0x5f, 0xd6}; /* ldr x0, [x1]; ret */
static const uint8_t end_code[] = {0xc0, 0x03, 0x5f, 0xd6};                            /* ret */
#define ADDRESS(place) ((void)(place), R(1))
#endif

/* What the tests set: the times of the clocks, whether processes' memory may be read, and their files be opened; and
 * what has been asked. */
static struct {
    int memory, files; /* errno; 0: they may */
    int code;          /* a descriptor of the file that the processes have mapped */
    time_t now_s;
    double cpu_s;
    int asked, messages; /* pieces of code, and in how many messages */
} fake;

const char *hm_decode_program(void)
{
    return DECODE;
}

/* For the linker, which else would take installed.c for it, with another hm_decode_program. */
const char *hm_preload_library(void)
{
    return "";
}

int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    double other_s = clock == CLOCK_MONOTONIC ? 0 : fake.cpu_s;
    *time = (struct timespec){.tv_sec = clock == CLOCK_MONOTONIC ? fake.now_s : 0, .tv_nsec = (long)(other_s * 1e9)};
    return 0;
}

int __real_hm_clock_decoder_ask(struct hm_clock_decoder *decoder, const struct hm_route_code *code, size_t n,
                                struct hm_route *route);
int __wrap_hm_clock_decoder_ask(struct hm_clock_decoder *decoder, const struct hm_route_code *code, size_t n,
                                struct hm_route *route);
int __wrap_hm_clock_decoder_ask(struct hm_clock_decoder *decoder, const struct hm_route_code *code, size_t n,
                                struct hm_route *route)
{
    fake.messages++;
    fake.asked += (int)n;
    return __real_hm_clock_decoder_ask(decoder, code, n, route);
}

ssize_t __real_process_vm_readv(pid_t pid, const struct iovec *to, unsigned long n, const struct iovec *from,
                                unsigned long n_from, unsigned long flags);
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *to, unsigned long n, const struct iovec *from,
                                unsigned long n_from, unsigned long flags);
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *to, unsigned long n, const struct iovec *from,
                                unsigned long n_from, unsigned long flags)
{
    errno = fake.memory;
    return fake.memory ? -1 : __real_process_vm_readv(pid, to, n, from, n_from, flags);
}

int __wrap_hm_powers_open_mapped(pid_t pid, struct hm_range whole);
int __wrap_hm_powers_open_mapped(pid_t pid, struct hm_range whole)
{
    (void)pid;
    assert_int_equal(whole.n_pages, 3);
    errno = fake.files;
    return fake.files ? -1 : dup(fake.code);
}

/* Processes with the same code at different addresses. The test may write it anew. */
struct step {
    pid_t pid[RANKS];
    uint8_t *code[RANKS];
    struct hm_clock_code *located;
};

/* The code of each place differs from that of the others in what comes after it. */
static void write_code(uint8_t *code)
{
    for (size_t i = 0; i < 3 * hm_page_size(); i += sizeof(end_code))
        memcpy(code - hm_page_size() + i, end_code, sizeof(end_code));
    for (size_t i = 0; i < PLACES; i++) {
        memcpy(code + i * 64, access_code, sizeof(access_code));
        code[i * 64 + sizeof(access_code)] = (uint8_t)i;
    }
}

static int set_up(void **state)
{
    static struct step step;
    size_t bytes = 3 * hm_page_size();
    memset(&fake, 0, sizeof(fake));
    fake.now_s = 1000;
    fake.code = memfd_create("code", MFD_CLOEXEC);
    assert_int_equal(ftruncate(fake.code, (off_t)(RANKS * bytes)), 0);
    for (int i = 0; i < RANKS; i++) {
        uint8_t *area = mmap(NULL, bytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED, fake.code, i * (off_t)bytes);
        assert_ptr_not_equal(area, MAP_FAILED);
        step.code[i] = area + hm_page_size();
        write_code(step.code[i]);
        step.pid[i] = fork();
        assert_true(step.pid[i] >= 0);
        if (step.pid[i] == 0)
            prctl(PR_SET_PDEATHSIG, SIGKILL); /* also where the test fails */
        while (step.pid[i] == 0)
            pause();
    }
    *state = &step;
    return 0;
}

static int tear_down(void **state)
{
    struct step *step = *state;
    for (int i = 0; i < RANKS; i++) {
        kill(step->pid[i], SIGKILL);
        waitpid(step->pid[i], NULL, 0);
        munmap(step->code[i] - hm_page_size(), 3 * hm_page_size());
    }
    hm_clock_code_free(step->located);
    close(fake.code);
    return 0;
}

static void begin(struct step *step, double share)
{
    struct hm_error error = {""};
    step->located = hm_clock_code_new(share, -1, &error);
    if (!step->located)
        fail_msg("%s", error.text);
}

/* A tick at this place of a rank. */
static struct hm_ring_sample tick(const struct step *step, int rank, int place)
{
    struct hm_ring_sample sample = {.pid = (uint32_t)step->pid[rank], .is_user = true, .has_regs = true};
    sample.ip = (uintptr_t)step->code[rank] + 64 * (uint64_t)place;
    for (uint64_t i = 0; i < HM_RING_REGS; i++)
        sample.reg[i] = R(i);
    return sample;
}

/* Does it tell the address, the right one? */
static bool tells(struct step *step, int rank, int place)
{
    struct hm_ring_sample sample = tick(step, rank, place);
    hm_clock_code_locate(step->located, &sample, 1);
    if (sample.address)
        assert_int_equal(sample.address, ADDRESS(sample.ip));
    return sample.address;
}

/* Each place of the program is asked about once, not once for each process. */
static void test_processes_share_routes(void **state)
{
    begin(*state, 1);
    for (int place = 0; place < PLACES; place++)
        for (int i = 0; i < 2 * RANKS; i++) /* each rank twice */
            assert_true(tells(*state, i % RANKS, place));
    assert_int_equal(fake.asked, PLACES);
}

/* Code that is not the same is not taken for it. */
static void test_other_code_is_asked_about(void **state)
{
    struct step *step = *state;
    begin(step, 1);
    assert_true(tells(step, 0, 0));
    step->code[1][200] ^= 1; /* a byte behind the place */
    assert_true(tells(step, 1, 0));
    assert_int_equal(fake.asked, 2);
}

/* A process may execute another program, or make code anew at a place: within a minute, that is seen. What has not
 * changed is not asked about again. */
static void test_code_is_read_again(void **state)
{
    struct step *step = *state;
    begin(step, 1);
    assert_true(tells(step, 0, 0));
    assert_true(tells(step, 0, 1));
    memcpy(step->code[0], end_code, sizeof(end_code));
    fake.now_s += 59;
    assert_true(tells(step, 0, 0));
    fake.now_s += 1;
    assert_false(tells(step, 0, 0));
    assert_int_equal(fake.asked, 3);
    for (fake.now_s += 60; fake.now_s < 1600; fake.now_s += 60)
        assert_true(tells(step, 0, 2));
    assert_int_equal(fake.asked, 4);
}

/* What is read together is asked about together. */
static void test_one_message_for_many_places(void **state)
{
    struct step *step = *state;
    struct hm_ring_sample sample[RANKS * PLACES];
    begin(step, 1);
    for (int i = 0; i < RANKS * PLACES; i++)
        sample[i] = tick(step, i % RANKS, i / RANKS);
    sample[0].is_user = false;
    hm_clock_code_locate(step->located, sample, RANKS * PLACES);
    assert_int_equal(sample[0].address, 0);
    for (int i = 1; i < RANKS * PLACES; i++)
        assert_int_equal(sample[i].address, ADDRESS(sample[i].ip));
    assert_int_equal(fake.asked, PLACES);
    assert_int_equal(fake.messages, (PLACES + HM_ROUTE_BATCH - 1) / HM_ROUTE_BATCH);
}

/* Three quarters of the time are for code that is seen the first time; the rest for what is seen again, by any process.
 * What the decoder takes to start does not count. */
static void test_what_is_seen_again_comes_first(void **state)
{
    struct step *step = *state;
    fake.cpu_s = 5;
    begin(step, 0.01); /* 1.2 s at once */
    fake.cpu_s = 5.89;
    assert_true(tells(step, 0, 0));
    fake.cpu_s = 5.91;
    assert_true(tells(step, 0, 1));
    assert_false(tells(step, 0, 2));
    assert_true(tells(step, 1, 0)); /* what is known costs nothing */
    assert_int_equal(fake.asked, 2);
    fake.cpu_s = 6.21;
    assert_true(tells(step, 1, 2));
    assert_true(tells(step, 0, 2));
    assert_false(tells(step, 0, 3));
    assert_false(tells(step, 0, 3));
    assert_int_equal(fake.asked, 3);
    fake.now_s += 2; /* 0.02 s more */
    assert_true(tells(step, 0, 3));
    assert_false(tells(step, 0, 4));
    fake.now_s += 1000;
    assert_true(tells(step, 0, 5));
    assert_int_equal(fake.asked, 5);
}

/* Where kernel.yama.ptrace_scope is 1 or more, as Ubuntu sets it. */
static void test_code_is_read_from_mapped_files(void **state)
{
    struct step *step = *state;
    begin(step, 1);
    fake.memory = EPERM;
    for (int place = 0; place < PLACES; place++)
        for (int i = 0; i < 2 * RANKS; i++)
            assert_true(tells(step, i % RANKS, place));
    assert_int_equal(fake.asked, PLACES);
    fake.files = ENOENT; /* what is mapped there has changed */
    fake.now_s += 60;
    assert_false(tells(step, 0, 0));
    fake.files = 0;
    fake.now_s += 60;
    assert_true(tells(step, 0, 0));
    assert_null(hm_clock_code_is_over(step->located));
}

/* Code that the program has made itself is in no file. */
static void test_code_that_is_in_no_file_is_not_read(void **state)
{
    struct step *step = *state;
    uint8_t *made = mmap(NULL, hm_page_size(), PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(made, MAP_FAILED);
    struct hm_ring_sample sample = tick(step, 0, 0);
    begin(step, 1);
    fake.memory = EPERM;
    sample.pid = (uint32_t)getpid();
    sample.ip = (uintptr_t)made;
    hm_clock_code_locate(step->located, &sample, 1);
    assert_int_equal(sample.address, 0);
    assert_int_equal(fake.asked, 0);
    munmap(made, hm_page_size());
}

static void test_code_that_nobody_may_read(void **state)
{
    struct step *step = *state;
    static const struct {
        int files;
        bool is_read_first, is_over;
    } rows[] = {{EPERM, false, true}, {EPERM, true, false}, {EACCES, false, false}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        begin(step, 1);
        fake.memory = 0;
        assert_true(!rows[i].is_read_first || tells(step, 0, 0));
        fake.memory = EPERM;
        fake.files = rows[i].files;
        for (int n = 0; n < 100; n++) {
            assert_null(hm_clock_code_is_over(step->located));
            assert_false(tells(step, 1, 1 + n % 4));
        }
        const char *why = hm_clock_code_is_over(step->located);
        assert_int_equal(why && strstr(why, "the code of the step's processes may not be read: "), rows[i].is_over);
        hm_clock_code_free(step->located);
        step->located = NULL;
    }
}

static double seconds(void)
{
    struct timespec now;
    __real_clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A decoder that hangs holds nobody up for long, and whoever is told to end not at all. */
static void test_a_decoder_that_hangs(void **state)
{
    struct step *step = *state;
    struct hm_error error = {""};
    int told[2];
    static const struct {
        bool is_told;
        double least_s, most_s;
    } rows[] = {{true, 0, 1.5}, {false, 1, 6}};
    assert_int_equal(pipe(told), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char byte = 0;
        step->located = hm_clock_code_new(1, told[0], &error);
        assert_non_null(step->located);
        assert_true(tells(step, 0, 2 * (int)i));
        kill(hm_clock_code_helper(step->located), SIGSTOP);
        assert_int_equal(rows[i].is_told ? write(told[1], &byte, 1) : 1, 1);
        double begun_s = seconds();
        assert_false(tells(step, 0, 2 * (int)i + 1));
        double took_s = seconds() - begun_s;
        if (took_s < rows[i].least_s || took_s > rows[i].most_s)
            fail_msg("row %zu: %.1f s", i, took_s);
        assert_non_null(hm_clock_code_is_over(step->located));
        hm_clock_code_free(step->located);
        step->located = NULL;
        if (rows[i].is_told)
            assert_int_equal(read(told[0], &byte, 1), 1);
    }
    close(told[0]);
    close(told[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_processes_share_routes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_code_is_asked_about, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_code_is_read_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_message_for_many_places, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_seen_again_comes_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_code_is_read_from_mapped_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_code_that_is_in_no_file_is_not_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_code_that_nobody_may_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_decoder_that_hangs, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
