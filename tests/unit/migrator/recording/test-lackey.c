/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the parser of the output of valgrind --tool=lackey. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "migrator/recording/lackey.h"
#include "unit/lib/rows.h"

static void test_lines(void **state)
{
    static const struct {
        const char *line;
        enum hm_lackey_kind kind;
        uint64_t address;
        unsigned size;
        const char *text;
    } rows[] = {
        {"I  0401ab70,3", HM_LACKEY_FETCH, 0x401ab70, 3, NULL},
        {" L 1fff0005e0,8", HM_LACKEY_LOAD, 0x1fff0005e0, 8, NULL},
        {" S 00000000,512", HM_LACKEY_STORE, 0, 512, NULL},
        {" M ffffffffffffffff,1", HM_LACKEY_MODIFY, UINT64_MAX, 1, NULL},
        {"==12== Lackey, an example Valgrind tool", HM_LACKEY_IMAGE, 0, 0, "Lackey, an example Valgrind tool"},
        {"==12== Command: ./a -L 1,2", HM_LACKEY_COMMAND, 0, 0, "./a -L 1,2"},
        {"==12== Command: ", HM_LACKEY_COMMAND, 0, 0, ""},
        {"==1== valgrind: Unrecognised instruction", HM_LACKEY_TROUBLE, 0, 0, "Unrecognised instruction"},
        {"==12== ", HM_LACKEY_MESSAGE, 0, 0, ""},
        {"==12==", HM_LACKEY_MESSAGE, 0, 0, ""},
        {"--12-- WARNING: unhandled syscall", HM_LACKEY_MESSAGE, 0, 0, "WARNING: unhandled syscall"},
        {"**12** the program's own", HM_LACKEY_MESSAGE, 0, 0, "the program's own"},
        {"", HM_LACKEY_MESSAGE, 0, 0, ""},
        {" L", HM_LACKEY_UNKNOWN, 0, 0, " L"},
        {" L ", HM_LACKEY_UNKNOWN, 0, 0, " L "},
        {" L ,8", HM_LACKEY_UNKNOWN, 0, 0, " L ,8"},
        {" L 10", HM_LACKEY_UNKNOWN, 0, 0, " L 10"},
        {" L 10,", HM_LACKEY_UNKNOWN, 0, 0, " L 10,"},
        {" L 10,0", HM_LACKEY_UNKNOWN, 0, 0, " L 10,0"},
        {" L 10,513", HM_LACKEY_UNKNOWN, 0, 0, " L 10,513"},
        {" L 10,0008", HM_LACKEY_UNKNOWN, 0, 0, " L 10,0008"},
        {" L 10,8 ", HM_LACKEY_UNKNOWN, 0, 0, " L 10,8 "},
        {" L 1G,8", HM_LACKEY_UNKNOWN, 0, 0, " L 1G,8"},
        {" L 0x10,8", HM_LACKEY_UNKNOWN, 0, 0, " L 0x10,8"},
        {" L 10000000000000000,8", HM_LACKEY_UNKNOWN, 0, 0, " L 10000000000000000,8"},
        {" L ffffffffffffffff,2", HM_LACKEY_UNKNOWN, 0, 0, " L ffffffffffffffff,2"},
        {" X 10,8", HM_LACKEY_UNKNOWN, 0, 0, " X 10,8"},
        {"==12=- text", HM_LACKEY_UNKNOWN, 0, 0, "==12=- text"},
        {"==x== text", HM_LACKEY_UNKNOWN, 0, 0, "==x== text"},
        {"=", HM_LACKEY_UNKNOWN, 0, 0, "="},
        {"lackey: m_mallocfree.c:1: Assertion failed", HM_LACKEY_UNKNOWN, 0, 0,
         "lackey: m_mallocfree.c:1: Assertion failed"},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_lackey_line line;
        hm_lackey_parse(rows[i].line, strlen(rows[i].line), &line);
        if (line.kind != rows[i].kind)
            fail_msg("row %zu: kind %d", i, (int)line.kind);
        if (rows[i].text) {
            assert_int_equal(line.length, strlen(rows[i].text));
            assert_memory_equal(line.text, rows[i].text, line.length);
        } else {
            assert_int_equal(line.address, rows[i].address);
            assert_int_equal(line.size, rows[i].size);
        }
    }
}

static void add_kind(void *data, const struct hm_lackey_line *line)
{
    char *kinds = data;
    static const char letters[] = "LSMFICTOU";
    kinds[strlen(kinds)] = letters[line->kind];
}

static void test_a_stream_may_be_cut_anywhere(void **state)
{
    static const char text[] = " L 10,8\n\n==1== Lackey, \nI  1,1\nnonsense\n M 2,2\n S 3,3\n==1== valgrind: x\n S 4";
    (void)state;
    for (size_t at = 0; at < sizeof(text); at++) {
        struct hm_lackey_stream stream = {.length = 0};
        char kinds[16] = "";
        hm_lackey_feed(&stream, text, at, add_kind, kinds);
        hm_lackey_feed(&stream, text + at, sizeof(text) - 1 - at, add_kind, kinds);
        assert_string_equal(kinds, "LOIFUMST");
    }
}

static void test_a_long_message_is_cut(void **state)
{
    static char text[3 * HM_LACKEY_LINE];
    struct hm_lackey_stream stream = {.length = 0};
    char kinds[16] = "";
    (void)state;
    memset(text, 'x', sizeof(text));
    memcpy(text, "==1== Command: ", 15);
    for (int i = 0; i < 3; i++)
        hm_lackey_feed(&stream, text, sizeof(text), add_kind, kinds);
    assert_int_equal(stream.length, HM_LACKEY_LINE);
    hm_lackey_feed(&stream, "\n S 1,1\n", 8, add_kind, kinds);
    assert_string_equal(kinds, "CS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_a_stream_may_be_cut_anywhere),
        cmocka_unit_test(test_a_long_message_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
