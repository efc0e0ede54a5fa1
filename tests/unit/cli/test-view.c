/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the view, the message of a running migrator to hybridmem top: names of sockets, the check of the message, and
 * the screen and JSON that top makes of it. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/top/print.h"
#include "migrator/figures/viewclient.h"
#include "slurm/stepname.h"
#include "unit/lib/rows.h"
#include "unit/lib/shortmemory.h"

#define UNIX_HEAD "Num       RefCount Protocol Flags    Type St Inode Path\n"
#define UNIX_LINE "0000000000000000: 00000002 00000000 00010000 0005 01 4711 "
#define CONNECTED "0000000000000000: 00000003 00000000 00000000 0005 03 4712 "
#define MARK ".0123456789abcdef"

static struct hm_view *new_view(void)
{
    struct hm_view *view = calloc(1, sizeof(*view));
    assert_non_null(view);
    view->progress = (struct hm_progress){.magic = HM_PROGRESS_MAGIC,
                                          .version = HM_PROGRESS_VERSION,
                                          .bytes = sizeof(view->progress),
                                          .state = HM_PROGRESS_RUNNING,
                                          .algorithm = "regions",
                                          .source = "damon",
                                          .phases = 7,
                                          .fast_share = 0.5,
                                          .last_fast_share = 0.75,
                                          .best_share = -1,
                                          .n_ranks = 2};
    view->job_id = 12;
    view->n_rows = 3;
    view->row[0] = (struct hm_view_row){.pid = 100, .first = 16, .n_pages = 100, .fast_pages = 100, .reads = 90};
    view->row[1] = (struct hm_view_row){.pid = 100, .first = 500, .n_pages = 300, .slow_pages = 300, .writes = 1};
    view->row[2] = (struct hm_view_row){.pid = 101, .first = 16, .n_pages = 8, .fast_pages = 4, .slow_pages = 4};
    return view;
}

static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t count;
        struct hm_view_name first;
    } rows[] = {
        {"", 0, {0}},
        {UNIX_HEAD, 0, {0}},
        {UNIX_HEAD UNIX_LINE "/run/hybridmem/12.0" MARK "\n", 0, {0}},
        {UNIX_HEAD UNIX_LINE "@hybridmem/\n", 0, {0}},
        {UNIX_HEAD UNIX_LINE "@hybridmem/12\n", 0, {0}},
        {UNIX_HEAD UNIX_LINE "@hybridmem/12.0\n", 0, {0}},
        {UNIX_HEAD UNIX_LINE "@hybridmem/12.x" MARK "\n", 0, {0}},
        {UNIX_HEAD UNIX_LINE "@hybridmem/0.0" MARK "\n", 0, {0}},
        {UNIX_HEAD UNIX_LINE "@hybridmem/99999999999.0" MARK "\n", 0, {0}},
        {UNIX_HEAD UNIX_LINE "@hybridmem/12.0" MARK " @more\n", 0, {0}},
        {UNIX_HEAD UNIX_LINE "@hybridmem/12.0" MARK "0\n", 0, {0}},
        {UNIX_HEAD UNIX_LINE "@hybridmem/12.0.0123456789abcdeX\n", 0, {0}},
        {UNIX_HEAD UNIX_LINE, 0, {0}},
        {UNIX_HEAD UNIX_LINE "@hybridmem/12.0" MARK "\n" CONNECTED "@hybridmem/12.0" MARK "\n", 1, {12, 0, ""}},
        {UNIX_LINE "@x\n" UNIX_LINE "@hybridmem/7.4294967291" MARK "\n" UNIX_LINE "@hybridmem/7.1" MARK,
         2,
         {7, 4294967291u, ""}},
        /* a name of a user's, with a line feed in it */
        {UNIX_LINE "@a\n@hybridmem/3.0" MARK "\n" UNIX_LINE "@hybridmem/7.1" MARK "\n", 1, {7, 1, ""}},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_view_name names[4] = {0};
        assert_int_equal(hm_view_parse_names(rows[i].text, names, 4), rows[i].count);
        assert_int_equal(names[0].job_id, rows[i].first.job_id);
        assert_int_equal(names[0].step_id, rows[i].first.step_id);
    }
}

static void test_names_beyond_room(void **state)
{
    (void)state;
    struct hm_view_name name[1];
    assert_int_equal(
        hm_view_parse_names(UNIX_LINE "@hybridmem/1.0" MARK "\n" UNIX_LINE "@hybridmem/2.0" MARK "\n", name, 1), 2);
    assert_int_equal(name[0].job_id, 1);
}

/* A migrator's name, taken by this process. Returns the listening socket. */
static int take_name(const struct hm_view_name *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "hybridmem/%u.%u.%s", name->job_id,
                          name->step_id, name->mark);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, (socklen_t)(3 + length)), 0);
    assert_int_equal(listen(fd, 0), 0);
    return fd;
}

/* Any user can bind a socket to a name of a migrator's form. Whoever asks, root included, believes only a socket of the
 * job's user. */
static void test_a_name_that_another_user_has_taken(void **state)
{
    (void)state;
    struct hm_error error = {""};
    struct hm_view_name name = {.job_id = 4294967295u, .step_id = (uint32_t)getpid(), .mark = "0123456789abcdef"};
    int taken = take_name(&name);
    int fd = hm_view_connect(&name, geteuid() + 1, &error);
    assert_int_equal(fd, -1);
    assert_int_equal(errno, EPERM);
    /* The connection that hm_view_connect made and closed above may still fill the socket's queue. Then this call
     * fails, and does not wait. */
    fd = hm_view_connect(&name, geteuid(), &error);
    assert_true(fd >= 0 || errno == EAGAIN);
    close(fd);
    close(taken);
}

static void expect_bad(struct hm_view *view, const char *word)
{
    struct hm_error error = {""};
    assert_int_equal(hm_view_check(view, &error), -1);
    assert_int_equal(errno, EBADMSG);
    assert_non_null(strstr(error.text, word));
    free(view);
}

static void test_check(void **state)
{
    (void)state;
    struct hm_view *view = new_view();
    assert_int_equal(hm_view_check(view, NULL), 0);
    view->progress.magic++;
    expect_bad(view, "version");
    view = new_view();
    view->n_rows = HM_VIEW_ROWS + 1;
    expect_bad(view, "rows");
    view = new_view();
    view->row[1].n_pages = 0;
    expect_bad(view, "row 1");
    view = new_view();
    view->row[1].slow_pages = UINT64_MAX;
    expect_bad(view, "row 1");
    view = new_view();
    view->row[2].reads = NAN;
    expect_bad(view, "row 2");
    view = new_view();
    view->row[2].first = UINT64_MAX;
    expect_bad(view, "row 2");
    view = new_view();
    view->row[1].n_pages = UINT64_MAX;
    expect_bad(view, "row 1");
    view = new_view();
    view->promoted_per_s = -1;
    expect_bad(view, "rate");
    view = new_view();
    view->demoted_per_s = 1e300;
    expect_bad(view, "rate");
}

static void test_step_words(void **state)
{
    (void)state;
    static const char *const good[] = {"0", "17", "4294967295", "batch", "interactive", "extern"};
    static const char *const bad[] = {"", "-1", "4294967296", "Batch", "batch ", "1x"};
    for (size_t i = 0; i < N_ROWS(good); i++) {
        uint32_t id;
        char word[16];
        assert_int_equal(hm_step_parse(good[i], &id), 0);
        assert_string_equal(hm_step_name(id, word, sizeof(word)), good[i]);
    }
    for (size_t i = 0; i < N_ROWS(bad); i++) {
        uint32_t id = 5;
        assert_int_equal(hm_step_parse(bad[i], &id), -1);
        assert_int_equal(id, 5);
    }
}

/* Asks for a view over a pair of sockets; the other end answers with `length` bytes (0: it closes instead). */
static int ask(const struct hm_view *view, size_t length, struct hm_error *error)
{
    int ends[2];
    struct hm_view *got = calloc(1, sizeof(*got));
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    if (length > 0)
        assert_int_equal(send(ends[1], view, length, 0), length);
    else
        close(ends[1]);
    int result = hm_view_ask(ends[0], got, error);
    if (result == 0)
        assert_memory_equal(got, view, sizeof(*view));
    int number = errno;
    free(got);
    close(ends[0]);
    if (length > 0)
        close(ends[1]);
    errno = number;
    return result;
}

static void test_ask(void **state)
{
    (void)state;
    struct hm_error error = {""};
    struct hm_view *view = new_view();
    assert_int_equal(ask(view, sizeof(*view), &error), 0);
    assert_int_equal(ask(view, sizeof(*view) - 1, &error), -1);
    assert_int_equal(errno, EBADMSG);
    assert_non_null(strstr(error.text, "another version"));
    assert_int_equal(ask(view, 0, &error), -1);
    assert_int_equal(errno, EPIPE);
    free(view);
}

/* Draws the screen as text; the caller frees it. */
static char *draw(const struct hm_view *view, struct hm_screen screen)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    hm_topprint_screen(out, view, "n1", &screen);
    fclose(out);
    return text;
}

static void test_screen(void **state)
{
    (void)state;
    struct hm_view *view = new_view();
    char *text = draw(view, (struct hm_screen){.columns = 36, .lines = 40});
    /* A map is 20 cells wide. Process 100: a quarter is hottest (@) and fast (F), the rest slow (.). Process 101: all
     * cells are half fast (f). */
    assert_non_null(strstr(text, "100        heat @@@@@"));
    assert_non_null(strstr(text, "FFFFF..............."));
    assert_non_null(strstr(text, "ffffffffffffffffffff"));
    for (const char *line = text; *line; line = strchr(line, '\n') + 1)
        assert_in_range(strcspn(line, "\n"), 0, 36);
    free(text);
    text = draw(view, (struct hm_screen){.columns = 120, .lines = 40});
    assert_non_null(strstr(text, "job 12.0 on n1, running"));
    assert_non_null(strstr(text, "75.0 % in the last phase, 50.0 % so far, not known at best"));
    free(text);
    free(view);
}

static char *draw_json(const struct hm_view *view)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(hm_topprint_json(out, view, "n1"), 0);
    fclose(out);
    return text;
}

/* How much of the fast tier a step may have: by its own cap, by its share beside other jobs, and by what stays free. */
static void test_limits(void **state)
{
    (void)state;
    static const struct {
        uint64_t cap_bytes, share_bytes, kept_free_bytes;
        const char *screen, *json;
    } rows[] = {
        {0, 0, 0, "fast 5.0 GiB, slow", "\"cap_bytes\":null,\"fair_share_bytes\":null"},
        {3, 0, 0, "fast 5.0 GiB (at most 3.0 GiB), slow", "\"cap_bytes\":3221225472,\"fair_share_bytes\":null"},
        {0, 2, 0, "fast 5.0 GiB (fair share 2.0 GiB), slow", "\"cap_bytes\":null,\"fair_share_bytes\":2147483648"},
        {3, 2, 1, "fast 5.0 GiB (at most 3.0 GiB, fair share 2.0 GiB, kept free 1.0 GiB), slow",
         "\"cap_bytes\":3221225472,\"fair_share_bytes\":2147483648,\"kept_free_bytes\":1073741824"},
        {0, 0, 0, "slow", "\"fair_share_bytes\":null,\"kept_free_bytes\":null"},
    };
    struct hm_view *view = new_view();
    view->fast_bytes = UINT64_C(5) << 30;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        view->progress.capacity_bytes = rows[i].cap_bytes << 30;
        view->progress.share_bytes = rows[i].share_bytes << 30;
        view->kept_free_bytes = rows[i].kept_free_bytes << 30;
        char *text = draw(view, (struct hm_screen){.columns = 120, .lines = 40});
        if (!strstr(text, rows[i].screen))
            fail_msg("row %zu: %s", i, text);
        free(text);
        text = draw_json(view);
        if (!strstr(text, rows[i].json))
            fail_msg("row %zu: %s", i, text);
        free(text);
    }
    free(view);
}

/* How much goes to which kind of memory, and to what cannot be moved. */
static void test_kinds(void **state)
{
    (void)state;
    struct hm_view *view = new_view();
    char *text = draw(view, (struct hm_screen){.columns = 120, .lines = 40}), *json = draw_json(view);
    assert_null(strstr(text, "by kind"));
    assert_non_null(strstr(json, "\"heat\":null"));
    free(text);
    free(json);
    view->progress.knows_heat = 1;
    view->progress.heat[HM_MEMORY_PRIVATE] = 0.625;
    view->progress.heat[HM_MEMORY_SHARED] = 0.375;
    view->progress.stuck[HM_MEMORY_SHARED] = 0.25;
    view->progress.stuck[HM_MEMORY_FILE] = 0.0001; /* would be 0.0 % */
    text = draw(view, (struct hm_screen){.columns = 120, .lines = 40});
    assert_non_null(strstr(text, "heat    by kind: private 62.5 %, shared 37.5 %; cannot be moved: shared 25.0 %\n"));
    json = draw_json(view);
    assert_non_null(strstr(json, "\"heat\":{\"private\":{\"share\":0.625,\"unmovable\":0.0},"
                                 "\"shared\":{\"share\":0.375,\"unmovable\":0.25},"));
    free(text);
    free(json);
    free(view);
}

static void test_screen_that_is_too_low(void **state)
{
    (void)state;
    struct hm_view *view = new_view();
    unsigned lines = 0;
    char *text = draw(view, (struct hm_screen){.columns = 80, .lines = 9});
    for (const char *byte = text; *byte; byte++)
        lines += *byte == '\n';
    assert_in_range(lines, 1, 9);
    assert_non_null(strstr(text, "and 1 more process\n"));
    free(text);
    free(view);
}

/* Where there is no room for all warnings, the first ones are shown. */
static void test_warnings_on_a_low_screen(void **state)
{
    (void)state;
    struct hm_view *view = new_view();
    unsigned lines = 0;
    for (int i = 0; i < HM_PROGRESS_WARNINGS; i++) {
        char warning[16];
        snprintf(warning, sizeof(warning), "number %d", i);
        hm_progress_warn(&view->progress, warning);
    }
    char *text = draw(view, (struct hm_screen){.columns = 80, .lines = 9});
    for (const char *byte = text; *byte; byte++)
        lines += *byte == '\n';
    assert_int_equal(lines, 9);
    assert_non_null(strstr(text, "warning: number 1"));
    assert_null(strstr(text, "warning: number 2"));
    assert_non_null(strstr(text, "and 2 more processes"));
    free(text);
    free(view);
}

/* The figures come from a process of a user. Those that are too large for many JSON readers become 2^63 - 1, and do
 * not turn negative. */
static void test_large_figures(void **state)
{
    (void)state;
    struct hm_view *view = new_view();
    view->fast_bytes = view->progress.samples = view->progress.promoted_bytes = UINT64_MAX;
    char *text = draw_json(view);
    assert_non_null(strstr(text, "\"fast_bytes\":9223372036854775807,"));
    assert_non_null(strstr(text, "\"samples\":9223372036854775807,"));
    assert_null(strstr(text, ":-"));
    free(text);
    free(view);
}

/* Returns the view's JSON text as a JSON string. The text is not parsed, as jansson's parser crashes where memory is
 * short. */
static json_t *make(const void *view)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    int result = hm_topprint_json(out, view, "n1");
    fclose(out);
    json_t *string = result == 0 ? json_string(text) : NULL;
    free(text);
    return string;
}

static void test_short_memory_is_an_error(void **state)
{
    (void)state;
    struct hm_view *view = new_view();
    hm_progress_warn(&view->progress, "a warning");
    check_short_memory(make, view);
    free(view);
}

static void test_no_heat(void **state)
{
    (void)state;
    struct hm_view *view = new_view();
    view->row[0].reads = view->row[1].writes = 0;
    char *text = draw(view, (struct hm_screen){.columns = 80, .lines = 30});
    assert_null(strstr(text, "@"));
    free(text);
    free(view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_step_words),
        cmocka_unit_test(test_names_beyond_room),
        cmocka_unit_test(test_a_name_that_another_user_has_taken),
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_ask),
        cmocka_unit_test(test_screen),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_screen_that_is_too_low),
        cmocka_unit_test(test_warnings_on_a_low_screen),
        cmocka_unit_test(test_large_figures),
        cmocka_unit_test(test_short_memory_is_an_error),
        cmocka_unit_test(test_no_heat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
