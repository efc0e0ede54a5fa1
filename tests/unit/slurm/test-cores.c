/* SPDX-License-Identifier: Apache-2.0 */
/* Tests Slurm's numbering of a node's CPUs, and the sockets that they are on. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "slurm/cores.h"
#include "slurm/scontrol.h"
#include "unit/lib/rows.h"

/*
 * The sockets' CPUs in the kernel's numbers, which do not follow the cores: the second threads of all cores come last.
 */
static const struct machine {
    const char *socket[4]; /* NULL: end of the list */
    unsigned siblings;     /* threads of a core; 0: unknown */
} plain = {{"0-23", "24-47"}, 1}, smt = {{"0-23,48-71", "24-47,72-95"}, 2}, four = {{"0-1", "2-3", "4-5", "6-7"}, 1},
  smt_off = {{"0-23", "24-47"}, 1}, core_off = {{"0-22,48-70", "24-47,72-95"}, 2},
  thread_off = {{"0-23,48-70", "24-47,72-95"}, 2}, unknown = {{"0-23", "24-47"}, 0};

static struct hm_error error;

/* Returns the sockets of these CPUs (Slurm's numbers), as "0-1", or the text of the error. */
static const char *spread(const struct machine *machine, struct hm_numbering numbering, const char *cpus)
{
    static struct hm_topology topology;
    static char list[64];
    struct hm_set given, found, sockets;
    memset(&topology, 0, sizeof(topology));
    hm_set_clear(&sockets);
    while (topology.n_sockets < 4 && machine->socket[topology.n_sockets]) {
        assert_int_equal(
            hm_set_parse(&topology.socket_cpus[topology.n_sockets], machine->socket[topology.n_sockets], NULL), 0);
        topology.n_sockets++;
    }
    assert_int_equal(hm_set_parse(&given, cpus, NULL), 0);
    if (hm_cores_spread(&given, &numbering, machine->siblings, &topology, &found, &error) != 0) {
        assert_int_equal(errno, EINVAL);
        return error.text;
    }
    for (int i = 0; i < topology.n_sockets; i++)
        if (hm_set_intersects(&found, &topology.socket_cpus[i])) {
            assert_true(hm_set_within(&topology.socket_cpus[i], &found));
            hm_set_add(&sockets, (unsigned)i);
        }
    return hm_set_format(&sockets, list, sizeof(list));
}

static void test_sockets_of_cpus(void **state)
{
    (void)state;
    static const struct {
        const struct machine *machine;
        struct hm_numbering numbering; /* cores, threads, release */
        const char *cpus, *sockets;
    } rows[] = {
        {&plain, {48, 1, 2411}, "", ""},
        {&plain, {48, 1, 2411}, "0-23", "0"},
        {&plain, {48, 1, 2411}, "24", "1"},
        {&plain, {48, 1, 2411}, "47", "1"},
        {&plain, {48, 1, 2411}, "23-24", "0-1"},
        {&four, {8, 1, 2411}, "2-3,7", "1,3"},
        /* Slurm counts both threads of each core. */
        {&smt, {48, 2, 2411}, "0-47", "0"},
        {&smt, {48, 2, 2411}, "48-49", "1"},
        {&smt, {48, 2, 2205}, "46-49", "0-1"},
        {&smt, {48, 2, 2205}, "94-95", "1"},
        /* Slurm counts one of two threads. Slurm's n-th CPU is the machine's n-th core. Before 23.11 it is the
           machine's n-th CPU, counted socket by socket. */
        {&smt, {48, 1, 2411}, "0-23", "0"},
        {&smt, {48, 1, 2311}, "24-47", "1"},
        {&smt, {48, 1, 2302}, "24-47", "0"},
        {&smt, {48, 1, 2205}, "0-47", "0"},
        /* CPUs=96 alone: Slurm takes each CPU as a core. */
        {&smt, {96, 1, 2411}, "24-47", "0"},
        {&smt, {96, 1, 2411}, "48", "1"},
        {&smt, {96, 1, 2205}, "47-48", "0-1"},
        /* Some cores are not configured in Slurm: always the last ones. */
        {&smt, {40, 2, 2411}, "40-47", "0"},
        {&smt, {40, 2, 2411}, "48-79", "1"},
        {&smt, {1, 1, 2411}, "0", "0"},
        /* Slurm counts second threads that are offline; it does not count a core that is offline. */
        {&smt_off, {48, 2, 2411}, "0-47", "0"},
        {&smt_off, {48, 2, 2411}, "48-95", "1"},
        {&core_off, {47, 2, 2411}, "0-45", "0"},
        {&core_off, {47, 2, 2411}, "46", "1"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const char *found = spread(rows[i].machine, rows[i].numbering, rows[i].cpus);
        if (strcmp(found, rows[i].sockets) != 0)
            fail_msg("row %zu, CPUs %s: %s", i, rows[i].cpus, found);
    }
}

static void test_more_than_there_is(void **state)
{
    (void)state;
    static const struct {
        const struct machine *machine;
        struct hm_numbering numbering;
        const char *cpus, *said;
    } rows[] = {
        {&plain, {49, 1, 2411}, "0", "49 cores with ThreadsPerCore=1 on this node, which has 48 CPUs, 1 to a core"},
        {&smt, {96, 2, 2411}, "0", "96 cores with ThreadsPerCore=2 on this node, which has 96 CPUs, 2 to a core"},
        {&smt, {48, 4, 2205}, "0", "48 cores with ThreadsPerCore=4 on this node, which has 96 CPUs, 2 to a core"},
        {&core_off, {48, 2, 2411}, "0", "48 cores with ThreadsPerCore=2 on this node, which has 94 CPUs, 2 to a core"},
        {&thread_off,
         {48, 2, 2411},
         "0",
         "48 cores with ThreadsPerCore=2 on this node, which has 95 CPUs, 2 to a core"},
        {&smt_off, {48, 2, 2205}, "0", "48 cores with ThreadsPerCore=2 on this node, which has 48 CPUs, 1 to a core"},
        {&unknown, {48, 1, 2411}, "0", "48 cores with ThreadsPerCore=1 on this node, which has 48 CPUs, 0 to a core"},
        {&plain, {48, 1, 2411}, "0,48", "48 cores with ThreadsPerCore=1"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const char *found = spread(rows[i].machine, rows[i].numbering, rows[i].cpus);
        if (!strstr(found, rows[i].said) || !strstr(found, "Sockets, CoresPerSocket and ThreadsPerCore in slurm.conf"))
            fail_msg("row %zu: %s", i, found);
    }
}

static void test_numbering(void **state)
{
    (void)state;
#define NODE(version, cores, sockets, threads)                                                                         \
    "NodeName=n1 Arch=x86_64 CoresPerSocket=" cores "  CPUAlloc=0 CPUEfctv=96 CPUTot=96 CPULoad=0.01 NodeAddr=n1 "     \
    "NodeHostName=n1 Version=" version " OS=Linux 6.12 RealMemory=1 Sockets=" sockets " Boards=1 State=IDLE "          \
    "ThreadsPerCore=" threads " TmpDisk=0 Comment=Sockets=7\n"
    static const struct {
        const char *text;
        struct hm_numbering numbering; /* no cores: an error is expected */
    } rows[] = {
        {NODE("24.11.5", "24", "2", "2"), {48, 2, 2411}},
        {NODE("22.05.8", "24", "2", "1"), {48, 1, 2205}},
        {NODE("24.11.5", "12", "4", "2"), {48, 2, 2411}}, /* numa_node_as_socket */
        {NODE("24.11.5", "1", "96", "1"), {96, 1, 2411}}, /* CPUs=96 alone */
        {NODE("26.05.0-0rc1", "1", "8192", "1"), {8192, 1, 2605}},
        {NODE("24.11.5", "24", "2", "0"), {0, 0, 0}},
        {NODE("24.11.5", "-1", "2", "1"), {0, 0, 0}},
        {NODE("24.11.5", "24", "x", "1"), {0, 0, 0}},
        {NODE("24.11.5", "1", "8193", "1"), {0, 0, 0}},
        {NODE("24.11.5", "8192", "8192", "8192"), {0, 0, 0}},
        {NODE("24.11.5", "99999999999999999999", "1", "1"), {0, 0, 0}},
        {NODE("unknown", "24", "2", "2"), {0, 0, 0}},
        {NODE("24", "24", "2", "2"), {0, 0, 0}},
        {NODE("-1.05", "24", "2", "2"), {0, 0, 0}},
        {"NodeName=n1 Version=24.11.5 CoresPerSocket=24 Sockets=2", {0, 0, 0}},
        {"NodeName=n1 CoresPerSocket=24 Sockets=2 ThreadsPerCore=2", {0, 0, 0}},
        {"", {0, 0, 0}},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_numbering found = {0, 0, 0};
        int result = hm_scontrol_parse_numbering(rows[i].text, &found, &error);
        if (result != (rows[i].numbering.cores > 0 ? 0 : -1))
            fail_msg("row %zu: %d", i, result);
        assert_memory_equal(&found, &rows[i].numbering, sizeof(found));
        if (result != 0)
            assert_non_null(strstr(error.text, "scontrol does not say how the node's cores are counted"));
    }
}

static void test_counts(void **state)
{
    (void)state;
    static const struct {
        const char *all, *usable, *threads;
        unsigned cores; /* 0: an error is expected */
    } rows[] = {
        {"96", "96", "2", 48}, /* Sockets=2 CoresPerSocket=24 */
        {"96", "88", "2", 44}, /* CoreSpecCount=4 */
        {"48", "48", "2", 48}, /* CPUs=48: each core counts as one CPU */
        {"48", "46", "1", 46}, {"96", "0", "2", 0}, {"96", "97", "2", 0}, {"x", "96", "2", 0}, {"96", "1", "2", 0},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char text[256];
        unsigned cores = 0;
        snprintf(text, sizeof(text),
                 "NodeName=n1 CoresPerSocket=24 CPUAlloc=0 CPUEfctv=%s CPUTot=%s Version=24.11.5 Sockets=2 "
                 "ThreadsPerCore=%s\n",
                 rows[i].usable, rows[i].all, rows[i].threads);
        assert_int_equal(hm_scontrol_parse_usable(text, &cores, &error), rows[i].cores > 0 ? 0 : -1);
        assert_int_equal(cores, rows[i].cores);
    }
    assert_true(hm_cores_siblings() > 0); /* of this machine */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sockets_of_cpus),
        cmocka_unit_test(test_more_than_there_is),
        cmocka_unit_test(test_numbering),
        cmocka_unit_test(test_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
