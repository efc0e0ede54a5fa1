/* SPDX-License-Identifier: Apache-2.0 */
/* Tests reading from hybridmem-papi and hybridmem-slurmenergy, with shell scripts in their place. Whatever fails there
 * becomes the reason why there is no figure. */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "meter/count/gauge.h"
#include "meter/papi/read.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define HEAD "echo papi 1 7.0.0\n"
#define EVENT "echo event 0 package-energy - 1 uJ 1000 zone\n"
#define TWO EVENT "echo event 1 read-bytes pmem 0 64B 0 lines\n"

static char *program;
static struct hm_error error;

static struct hm_papi_reader *start_as(enum hm_papi_program which, const char *script)
{
    char text[1024];
    snprintf(text, sizeof(text), "#!/bin/sh\n%s", script);
    scratch_write(program, text);
    assert_int_equal(chmod(program, 0700), 0);
    error.text[0] = '\0';
    return hm_papi_reader_start(which, program, &error);
}

static struct hm_papi_reader *start(const char *script)
{
    return start_as(HM_PROGRAM_PAPI, script);
}

/* Check that an ended reader has left no child. */
static void expect_no_child(void)
{
    errno = 0;
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void test_programs_that_do_not_start(void **state)
{
    (void)state;
    static const struct {
        const char *script, *text;
    } rows[] = {
        {"exit 127\n", "hybridmem-papi ended with 127, as PAPI does where it cannot read a register"},
        {"exit 3\n", "hybridmem-papi ended with 3"},
        {HEAD "kill -9 $$\n", "hybridmem-papi was killed by signal 9"},
        {HEAD "echo error PAPI does not start: no\nexit 1\n", "PAPI does not start: no"},
        {HEAD "echo component rapl out no MSR\necho component powercap in\necho component x out y\necho ready 0\n",
         "rapl: no MSR; x: y"},
        {HEAD "echo ready 0\n", "PAPI has no event here"},
        {"echo nonsense\n", "hybridmem-papi wrote a line that is not valid"},
        {"echo papi 2 7.0.0\n", "hybridmem-papi wrote a line \"papi\" that is not valid"},
        {"printf 'papi 1 7.0.0\\000\\n'\n", "hybridmem-papi wrote a zero byte"},
        {"printf 'papi 1 7.0.0'\n", "hybridmem-papi ended with 0"},
        {"head -c 20000 /dev/zero | tr '\\000' a; exec sleep 100\n", "hybridmem-papi does not end its lines"},
        {EVENT, "hybridmem-papi wrote its lines in another order, or is of another version"},
        {HEAD HEAD, "hybridmem-papi wrote its lines in another order, or is of another version"},
        {HEAD EVENT EVENT, "hybridmem-papi wrote its lines in another order, or is of another version"},
        {HEAD EVENT "echo ready 2\n", "hybridmem-papi wrote its lines in another order, or is of another version"},
        {HEAD "exec yes component x in\n", "hybridmem-papi wrote its lines in another order, or is of another version"},
        {HEAD EVENT "echo read 5 6\n", "hybridmem-papi wrote its lines in another order, or is of another version"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        if (start(rows[i].script))
            fail_msg("row %zu started", i);
        assert_string_equal(error.text, rows[i].text);
        expect_no_child();
    }
    unlink(program);
    assert_null(hm_papi_reader_start(HM_PROGRAM_PAPI, program, &error));
    assert_string_equal(error.text, "hybridmem was built without PAPI (configure --with-papi)");
    assert_null(hm_papi_reader_start(HM_PROGRAM_PAPI, "/etc/passwd", &error));
    assert_string_equal(error.text, "cannot start /etc/passwd: Permission denied");
    expect_no_child();
}

static void test_readings(void **state)
{
    (void)state;
    struct hm_papi_reader *reader =
        start(HEAD TWO "echo ready 2\nread x; echo read 1 5 18446744073709551615\nread x; echo read 2 - 0\nread x\n");
    uint64_t value = 0;
    assert_non_null(reader);
    assert_int_equal(hm_papi_reader_count(reader), 2);
    const struct hm_papi_event *event = hm_papi_reader_event(reader, 0);
    assert_true(event->measure == HM_PAPI_PACKAGE_ENERGY && event->socket == 1 && event->modulus == 1000);
    assert_string_equal(hm_papi_reader_event(reader, 1)->name, "lines");
    assert_int_equal(hm_papi_reader_value(reader, 0, &value), ENODEV); /* the program was not asked yet */
    hm_papi_reader_read(reader);
    assert_int_equal(hm_papi_reader_value(reader, 0, &value), 0);
    assert_int_equal(value, 5);
    assert_int_equal(hm_papi_reader_value(reader, 1, &value), 0);
    assert_true(value == UINT64_MAX);
    hm_papi_reader_read(reader);
    assert_int_equal(hm_papi_reader_value(reader, 0, &value), EBADMSG);
    assert_int_equal(hm_papi_reader_value(reader, 1, &value), 0);
    assert_int_equal(value, 0);
    assert_string_equal(hm_papi_reader_problem(reader), "");
    hm_papi_reader_stop(reader);
    expect_no_child();
    hm_papi_reader_stop(NULL);
}

static void test_deaths_midway(void **state)
{
    (void)state;
    static const struct {
        const char *then, *text;
    } rows[] = {
        {"kill -9 $$\n", "hybridmem-papi was killed by signal 9"},
        {"kill -6 $$\n", "hybridmem-papi was killed by signal 6"},
        {"exit 127\n", "hybridmem-papi ended with 127, as PAPI does where it cannot read a register"},
        {"echo error no more; exit 1\n", "no more"},
        {"echo read 3\n", "hybridmem-papi wrote its lines in another order, or is of another version"},
        {"echo read 3 1 2\n", "hybridmem-papi wrote its lines in another order, or is of another version"},
        {"echo ready 1\n", "hybridmem-papi wrote its lines in another order, or is of another version"},
        {"echo read 3 x\n", "hybridmem-papi wrote a line \"read\" that is not valid"},
        {"exec >&-; exec sleep 100\n", "hybridmem-papi has closed its output"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char script[512];
        uint64_t value;
        snprintf(script, sizeof(script), HEAD EVENT "echo ready 1\nread x; echo read 1 5\nread x\n%s", rows[i].then);
        struct hm_papi_reader *reader = start(script);
        assert_non_null(reader);
        hm_papi_reader_read(reader);
        assert_int_equal(hm_papi_reader_value(reader, 0, &value), 0);
        for (int again = 0; again < 3; again++) {
            hm_papi_reader_read(reader);
            assert_int_equal(hm_papi_reader_value(reader, 0, &value), ENODEV);
            assert_string_equal(hm_papi_reader_problem(reader), rows[i].text);
        }
        expect_no_child();
        hm_papi_reader_stop(reader);
    }
}

/* The program inherits no environment, and no blocked or ignored signals. Its arguments are --read --ask. */
static void test_nothing_is_handed_down(void **state)
{
    (void)state;
    sigset_t all, before;
    sigfillset(&all);
    setenv("PAPI_EVENTS", "x", 1);
    sigprocmask(SIG_SETMASK, &all, &before);
    signal(SIGPIPE, SIG_IGN);
    struct hm_papi_reader *reader =
        start(HEAD "test -z \"$PAPI_EVENTS\" && grep -q '^SigBlk:.0*$' /proc/self/status &&\n"
                   "grep -q '^SigIgn:.*0000000$' /proc/self/status && test \"$*\" = '--read --ask' && " EVENT
                   "echo ready 1\nread x\n");
    sigprocmask(SIG_SETMASK, &before, NULL);
    signal(SIGPIPE, SIG_DFL);
    unsetenv("PAPI_EVENTS");
    if (!reader)
        fail_msg("%s", error.text);
    hm_papi_reader_stop(reader);
    expect_no_child();
}

/* hybridmem-slurmenergy begins with another word, gets SLURM_CONF, and gives other reasons why there is no figure. */
static void test_the_program_of_slurm(void **state)
{
    (void)state;
    static const struct {
        const char *script, *text;
    } rows[] = {
        {HEAD EVENT "echo ready 1\n",
         "hybridmem-slurmenergy wrote its lines in another order, or is of another version"},
        {"exit 127\n",
         "hybridmem-slurmenergy ended with 127, which may mean that libslurm is not the one that it was built with"},
        {"echo error no slurmd\nexit 1\n", "no slurmd"},
        {"echo slurm 1 24.11.5\necho ready 0\n", "Slurm has no energy of this node"},
    };
    char most[PATH_MAX + 32];
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        if (start_as(HM_PROGRAM_SLURMENERGY, rows[i].script))
            fail_msg("row %zu started", i);
        assert_string_equal(error.text, rows[i].text);
        expect_no_child();
    }
    assert_null(hm_papi_reader_start(HM_PROGRAM_SLURMENERGY, "/nonexistent/program", &error));
    assert_string_equal(error.text, "hybridmem was built without Slurm's library (libslurm)");
    memset(most, 'a', sizeof(most));
    most[sizeof(most) - 1] = '\0';
    setenv("SLURM_CONF", most, 1);
    assert_null(start_as(HM_PROGRAM_SLURMENERGY, "exit 0\n"));
    assert_non_null(strstr(error.text, ": File name too long"));
    scratch_write(scratch_path("slurm other.conf"), "");
    assert_int_equal(chdir(scratch), 0);
    /* relative; the reader makes it absolute for the program, which runs in another folder */
    setenv("SLURM_CONF", "slurm other.conf", 1);
    setenv("SLURM_JOB_ID", "5", 1);
    struct hm_papi_reader *reader =
        start_as(HM_PROGRAM_SLURMENERGY, "test -f \"$SLURM_CONF\" && test -z \"$SLURM_JOB_ID\" &&\n"
                                         "echo slurm 1 24.11.5 && echo event 0 platform-energy - - J 0 ipmi &&\n"
                                         "echo ready 1\nread x; echo read 1 300\n");
    unsetenv("SLURM_CONF");
    unsetenv("SLURM_JOB_ID");
    if (!reader)
        fail_msg("%s", error.text);
    uint64_t value;
    hm_papi_reader_read(reader);
    assert_int_equal(hm_papi_reader_value(reader, 0, &value), 0);
    assert_int_equal(value, 300);
    assert_int_equal(hm_papi_reader_event(reader, 0)->unit, HM_PAPI_JOULE);
    hm_papi_reader_stop(reader);
    expect_no_child();
}

/* Gauges take differences of the program's values. After the program's end they are unknown. */
static void test_gauges(void **state)
{
    (void)state;
    const struct hm_gauge like = {.quantity = HM_PACKAGE_ENERGY, .factor = 1e-6, .counter = {.modulus = 1000}};
    struct hm_gauges gauges = {0};
    gauges.reader[HM_PROGRAM_PAPI] =
        start(HEAD EVENT "echo ready 1\nfor v in 990 15 - 20 40; do read x; echo read 1 $v; done\nread x\nexit 127\n");
    assert_non_null(gauges.reader[HM_PROGRAM_PAPI]);
    assert_int_equal(hm_gauges_add_asked(&gauges, &like, HM_PROGRAM_PAPI, 0, &error), 0);
    hm_gauges_read(&gauges, 1);
    assert_int_equal(gauges.gauge[0].total.problem, HM_COUNTER_FIRST);
    hm_gauges_clear(&gauges);
    hm_gauges_read(&gauges, 2);
    assert_true(hm_total_is_known(&gauges.gauge[0].total) && gauges.gauge[0].total.amount * 1e6 > 24.99 &&
                gauges.gauge[0].total.amount * 1e6 < 25.01);
    hm_gauges_read(&gauges, 3);
    assert_int_equal(gauges.gauge[0].total.problem, HM_COUNTER_UNREADABLE);
    hm_gauges_read(&gauges, 4); /* a first value again */
    hm_gauges_clear(&gauges);
    hm_gauges_read(&gauges, 5);
    assert_true(gauges.gauge[0].total.amount * 1e6 > 19.99 && gauges.gauge[0].total.amount * 1e6 < 20.01);
    hm_gauges_read(&gauges, 6);
    assert_int_equal(gauges.gauge[0].total.problem, HM_COUNTER_VANISHED);
    hm_gauges_close(&gauges, 0);
    expect_no_child();
}

#define SLURM_HEAD "echo slurm 1 24.11.5\necho event 0 platform-energy - - J 0 ipmi\necho ready 1\n"

/* A program of Slurm's answers after its time: that answer is dropped, and the program is asked again. A difference
 * spans the readings that were missed, but not where the totals were cleared meanwhile. */
static void test_an_answer_that_comes_late(void **state)
{
    (void)state;
    const struct hm_gauge like = {.quantity = HM_PLATFORM_ENERGY, .factor = 1, .spans_gaps = true};
    for (int is_cleared = 0; is_cleared < 2; is_cleared++) {
        struct hm_gauges gauges = {0};
        unlink(scratch_path("go"));
        struct hm_papi_reader *reader = gauges.reader[HM_PROGRAM_SLURMENERGY] =
            start_as(HM_PROGRAM_SLURMENERGY, SLURM_HEAD "read x; echo read 1 5\nread x\n"
                                                        "while ! test -e \"${0%/*}/go\"; do sleep 0.01; done\n"
                                                        "echo read 2 6\nread x; echo read 3 9\nread x\n");
        assert_non_null(reader);
        assert_int_equal(hm_gauges_add_asked(&gauges, &like, HM_PROGRAM_SLURMENERGY, 0, &error), 0);
        hm_gauges_read(&gauges, 1);
        hm_gauges_clear(&gauges);
        hm_papi_reader_ask(reader);
        hm_papi_reader_hurry(reader, 0);
        hm_papi_reader_finish(reader);
        for (int again = 0; again < 2; again++) {
            hm_gauges_take(&gauges, 2);
            assert_string_equal(hm_papi_reader_problem(reader), "hybridmem-slurmenergy does not answer");
            assert_int_equal(gauges.gauge[0].gap, HM_COUNTER_VANISHED);
            hm_papi_reader_read(reader);
        }
        if (is_cleared)
            hm_gauges_clear(&gauges);
        scratch_write(scratch_path("go"), "");
        uint64_t value = 0;
        int64_t until_ms = hm_clock_ms(CLOCK_MONOTONIC) + 60000;
        while (hm_papi_reader_value(reader, 0, &value) != 0) {
            assert_true(hm_clock_ms(CLOCK_MONOTONIC) < until_ms);
            hm_papi_reader_read(reader);
        }
        assert_int_equal(value, 9);
        assert_string_equal(hm_papi_reader_problem(reader), "");
        hm_gauges_take(&gauges, 3);
        assert_int_equal(gauges.gauge[0].gap, HM_COUNTER_VALID);
        if (is_cleared)
            assert_int_equal(gauges.gauge[0].total.problem, HM_COUNTER_FIRST);
        else
            assert_true(hm_total_is_known(&gauges.gauge[0].total) && gauges.gauge[0].total.amount == 4);
        hm_gauges_close(&gauges, 0);
    }
    expect_no_child();
}

static int make(void **state)
{
    if (scratch_make(state) != 0)
        return -1;
    program = strdup(scratch_path("hybridmem-papi"));
    return program ? 0 : -1;
}

static int drop(void **state)
{
    free(program);
    return scratch_drop(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs_that_do_not_start),
        cmocka_unit_test(test_readings),
        cmocka_unit_test(test_deaths_midway),
        cmocka_unit_test(test_nothing_is_handed_down),
        cmocka_unit_test(test_the_program_of_slurm),
        cmocka_unit_test(test_gauges),
        cmocka_unit_test(test_an_answer_that_comes_late),
    };
    return cmocka_run_group_tests(tests, make, drop);
}
