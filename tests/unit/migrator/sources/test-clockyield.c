/* SPDX-License-Identifier: Apache-2.0 */
/* Tests when the clock's ticks are said to tell too little. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "migrator/sources/clockyield.h"
#include "unit/lib/rows.h"

#define WINDOW 1000 /* ticks: more than are wanted of a window */
#define LONG_S 10.5 /* as long as a window has to be */

/* Windows of ticks: how many of each tell a page, and whether these are all the same. */
struct row {
    const char *text;
    int n_windows, ticks, told[4];
    double seconds;
    bool same, is_low;
};

static const struct row rows[] = {
    {"many tell", 4, WINDOW, {100, 100, 100, 100}, LONG_S, false, false},
    {"few tell", 2, WINDOW, {40, 40}, LONG_S, false, true},
    {"few tell, once", 1, WINDOW, {0}, LONG_S, false, false},
    {"few tell, but not twice in a row", 4, WINDOW, {0, 100, 0, 100}, LONG_S, false, false},
    {"few ticks", 4, 100, {0}, LONG_S, false, false},
    {"short windows are one", 4, WINDOW, {0}, 4, false, false},
    {"a thread that waits for another: its page says nothing", 4, WINDOW, {990, 990, 990, 990}, LONG_S, true, false},
};

static void test_yield(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct row *row = &rows[i];
        struct hm_clock_yield yield = {0};
        double now_s = 1;
        bool is_low = hm_clock_yield_is_low(&yield, now_s);
        for (int window = 0; window < row->n_windows; window++) {
            int all = row->same ? row->told[window] : row->ticks;
            for (int tick = 0; tick < all; tick++)
                hm_clock_yield_add(&yield, tick >= row->told[window] ? 0
                                           : row->same               ? 5
                                                                     : (uint64_t)(window * WINDOW + tick + 1) << 20);
            now_s += row->seconds;
            is_low = hm_clock_yield_is_low(&yield, now_s);
        }
        if (is_low != row->is_low)
            fail_msg("%s: low %d", row->text, is_low);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_yield)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
