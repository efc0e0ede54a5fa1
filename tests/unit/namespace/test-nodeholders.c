/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how much memory on nodes 4 and 5 a line of numa_maps shows, and whether its policy names one of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "namespace/ram/nodeholders.h"
#include "unit/lib/rows.h"

#define PAGE 4096

static void test_what_counts(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        uint64_t bytes;
        bool is_by_name;
    } rows[] = {
        {"7f00 default anon=3 dirty=3 N4=2 N0=1 kernelpagesize_kB=4\n", 2 * PAGE, false},
        {"7f00 default anon=3 dirty=3 N4=2 N5=1 kernelpagesize_kB=4\n", 3 * PAGE, false},
        {"7f00 default anon=3 dirty=3 N4=3", 3 * PAGE, false},
        {"7f00 default heap anon=3 dirty=3 N0=3 kernelpagesize_kB=4\n", 0, false},
        {"7f00 default stack anon=3 N40=3 N1=2 kernelpagesize_kB=4\n", 0, false},
        {"7f00 default huge anon=1 dirty=1 N4=1 kernelpagesize_kB=2048\n", 512 * PAGE, false},
        /* A file's mapping counts only if one of its pages was written to, or if its pages are huge. */
        {"7f00 default file=/usr/lib/libc.so.6 mapped=9 N4=9 kernelpagesize_kB=4\n", 0, false},
        {"7f00 default file=/usr/lib/libc.so.6 anon=1 dirty=1 mapped=2 N4=2 kernelpagesize_kB=4\n", 2 * PAGE, false},
        {"7f00 default file=/dev/shm/x dirty=5 N4=5 kernelpagesize_kB=4\n", 5 * PAGE, false},
        {"7f00 default file=/SYSV00000000\\040(deleted) huge dirty=1 N4=1 kernelpagesize_kB=2048\n", 512 * PAGE, false},
        /* Policies, with pages and without them. */
        {"7f00 bind:4 anon=1 dirty=1 N4=1 kernelpagesize_kB=4\n", PAGE, true},
        {"7f00 bind:4\n", 0, true},
        {"7f00 bind:0-7\n", 0, true},
        {"7f00 bind=static:0,5 file=/a\n", 0, true},
        {"7f00 bind:0-3\n", 0, false},
        {"7f00 prefer:5\n", 0, true},
        {"7f00 prefer (many):1,4\n", 0, true},
        {"7f00 weighted interleave:0-4\n", 0, true},
        {"7f00 interleave:0,1,2,3,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,26,28,30,32,34\n", 0, true},
        {"7f00 local\n", 0, false},
        {"7f00 default file=/tmp/a:4 mapped=1 N0=1 kernelpagesize_kB=4\n", 0, false},
        {"", 0, false},
        {"\n", 0, false},
        {"7f00", 0, false},
        {"7f00 default N4 N=4 N4= Nx=1 :4x\n", 0, false},
    };
    struct hm_set nodes;
    assert_int_equal(hm_set_parse(&nodes, "4-5", NULL), 0);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_node_use use = {0};
        hm_node_use_add(&use, rows[i].line, &nodes);
        assert_int_equal(use.bytes, rows[i].bytes);
        assert_int_equal(use.is_by_name, rows[i].is_by_name);
        hm_node_use_add(&use, "7f00 default anon=1 dirty=1 N4=1 kernelpagesize_kB=4\n", &nodes);
        assert_int_equal(use.bytes, rows[i].bytes + PAGE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
