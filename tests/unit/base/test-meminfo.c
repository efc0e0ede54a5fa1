/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the parser of meminfo files. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/meminfo.h"
#include "unit/lib/rows.h"

static void test_bad_texts(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "MemFree",
        "MemFree:",
        "MemFree: kB\n",
        "MemFree: -1 kB\n",
        "MemFree: 1\n",
        "MemFree: 1 MB\n",
        "MemFree: 1kB\n",
        "MemFree: 0x10 kB\n",
        "MemFree: 18446744073709551616 kB\n", /* 2^64 */
        "MemFree: 18014398509481984 kB\n",    /* 2^64 bytes */
        "MemFreed: 1 kB\n",
        "HighMemFree: 1 kB\n",
        "memfree: 1 kB\n",
    };
    for (size_t i = 0; i < N_ROWS(texts); i++) {
        uint64_t bytes;
        errno = 0;
        if (hm_meminfo_parse(texts[i], "MemFree", &bytes) != -1 || errno != EBADMSG)
            fail_msg("\"%s\" was taken", texts[i]);
    }
}

static void test_texts(void **state)
{
    (void)state;
    static const struct {
        const char *text, *key;
        uint64_t bytes;
    } rows[] = {
        {"MemTotal:       16384 kB\nMemFree:            3 kB\n", "MemFree", 3 << 10},
        {"MemTotal:       16384 kB\nMemFree:            3 kB\n", "MemTotal", 16 << 20},
        {"MemFree: 0 kB\n", "MemFree", 0},
        {"MemFree: 18014398509481983 kB\n", "MemFree", UINT64_MAX - 1023},
        {"HighMemFree: 1 kB\nMemFree: 2 kB\n", "MemFree", 2 << 10},
        {"Node 1 MemTotal:  8 kB\nNode 1 MemFree:  5 kB\nNode 1 MemUsed:  3 kB\n", "MemFree", 5 << 10},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        uint64_t bytes;
        assert_int_equal(hm_meminfo_parse(rows[i].text, rows[i].key, &bytes), 0);
        assert_int_equal(bytes, rows[i].bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bad_texts), cmocka_unit_test(test_texts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
