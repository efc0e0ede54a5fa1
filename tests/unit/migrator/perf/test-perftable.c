/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the events of processors, the texts for refusals, and how often to sample. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/perfopen.h"
#include "migrator/perf/budget.h"
#include "migrator/perf/table.h"
#include "unit/lib/rows.h"

static void test_parse_refuses(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "", "\n", "processor : 0\n", "vendor_id\n", "vendor_idx : GenuineIntel\n", " vendor_id : GenuineIntel\n"};
    for (size_t i = 0; i < N_ROWS(texts); i++) {
        struct hm_perf_cpu cpu;
        if (hm_perf_parse_cpu(texts[i], &cpu) != -1)
            fail_msg("\"%s\" was taken", texts[i]);
    }
}

static void test_parse(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        struct hm_perf_cpu cpu;
    } rows[] = {
        {"processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Intel(R) Xeon(R) "
         "Platinum 8480+\nflags\t\t: fpu vme hypervisors\n\nprocessor\t: 1\nvendor_id\t: Other\nmodel\t\t: 1\n",
         {"GenuineIntel", 6, 143, false}},
        {"vendor_id : AuthenticAMD\ncpu family : 25\nmodel : 17\nmodel name : AMD EPYC\nflags : fpu hypervisor lm\n",
         {"AuthenticAMD", 25, 17, true}},
        {"vendor_id : GenuineIntel\nmodel name : 77\ncpu family : 6\n", {"GenuineIntel", 6, 0, false}},
        {"vendor_id : AVendorWithAVeryLongName\n", {"AVendorWithAVer", 0, 0, false}},
        {"processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\nCPU architecture: 8\n", {"Arm", 0, 0, false}},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_perf_cpu cpu;
        assert_int_equal(hm_perf_parse_cpu(rows[i].text, &cpu), 0);
        assert_string_equal(cpu.vendor, rows[i].cpu.vendor);
        assert_int_equal(cpu.family, rows[i].cpu.family);
        assert_int_equal(cpu.model, rows[i].cpu.model);
        assert_int_equal(cpu.is_virtual, rows[i].cpu.is_virtual);
    }
}

static void test_find(void **state)
{
    (void)state;
    static const struct {
        struct hm_perf_cpu cpu;
        const char *name; /* NULL: no row */
        int n_events;
    } rows[] = {
        {{"GenuineIntel", 6, 0x4f, false}, NULL, 0}, /* Broadwell: before Skylake */
        {{"GenuineIntel", 6, 0, false}, NULL, 0},
        {{"GenuineIntel", 15, 0x55, false}, NULL, 0},
        {{"AuthenticAMD", 0x16, 1, false}, NULL, 0},
        {{"AuthenticAMD", 0x1b, 1, false}, NULL, 0},
        {{"HygonGenuine", 0x18, 1, false}, NULL, 0},
        {{"", 6, 0x55, false}, NULL, 0},
        {{"GenuineIntel", 6, 0x55, false}, "Intel Skylake-SP, Cascade Lake or Cooper Lake", 2},
        {{"GenuineIntel", 6, 0x6a, false}, "Intel Ice Lake", 2},
        {{"GenuineIntel", 6, 0x6c, false}, "Intel Ice Lake", 2},
        {{"GenuineIntel", 6, 0x8f, false}, "Intel Sapphire Rapids or Emerald Rapids", 2},
        {{"GenuineIntel", 6, 0xcf, false}, "Intel Sapphire Rapids or Emerald Rapids", 2},
        {{"GenuineIntel", 6, 0xad, false}, "Intel Granite Rapids", 2},
        {{"GenuineIntel", 6, 0xae, true}, "Intel Granite Rapids", 2},
        {{"AuthenticAMD", 0x17, 0x31, false}, "AMD Zen", 1},
        {{"AuthenticAMD", 0x19, 0x11, false}, "AMD Zen", 1},
        {{"AuthenticAMD", 0x1a, 2, false}, "AMD Zen", 1},
        {{"Arm", 0, 0, false}, "Arm", 1},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct hm_perf_processor *row = hm_perf_find_processor(&rows[i].cpu);
        if (!rows[i].name != !row || (row && strcmp(row->name, rows[i].name) != 0))
            fail_msg("%s %u %x: %s", rows[i].cpu.vendor, rows[i].cpu.family, rows[i].cpu.model,
                     row ? row->name : "none");
        if (row)
            assert_int_equal(row->n_events, rows[i].n_events);
    }
}

/* The numbers are from the vendors' manuals. */
static void test_rows(void **state)
{
    (void)state;
    const struct hm_perf_processor *row;
    int i = 0;
    assert_null(hm_perf_processor_at(-1));
    for (; (row = hm_perf_processor_at(i)) != NULL; i++) {
        assert_true(row->n_events > 0 && row->n_events <= HM_PERF_EVENTS);
        assert_true(row->period_multiple > 0);
        assert_true(row->period_least % row->period_multiple == 0 && row->period_most % row->period_multiple == 0);
        if (strcmp(row->vendor, "GenuineIntel") == 0) {
            assert_int_equal(row->event[0].config, 0x81d0);
            assert_int_equal(row->event[0].kind, HM_PERF_LOADS);
            assert_int_equal(row->event[1].config, 0x82d0);
            assert_int_equal(row->event[1].kind, HM_PERF_STORES);
            assert_true(row->event[0].precise > 0 && row->event[1].precise > 0);
        }
        if (strcmp(row->vendor, "AuthenticAMD") == 0) {
            assert_int_equal(row->event[0].config, 0x80000);
            assert_int_equal(row->event[0].kind, HM_PERF_BOTH);
            assert_int_equal(row->period_multiple, 16);
        }
    }
    assert_int_equal(i, 6);
    row = hm_perf_processor_at(5);
    assert_string_equal(row->pmu, "arm_spe_0");
    assert_true(row->has_packets && row->period_multiple == 256 && row->period_most == 0xffffff00);
}

static void test_explain(void **state)
{
    (void)state;
    static const struct {
        int number;
        const char *paranoid;
        int wanted;
        const char *text;
    } rows[] = {
        {EACCES, "3", 2, "perf_event_paranoid is 3, wanted is 2 or less, or CAP_SYS_ADMIN"},
        {EPERM, "4", 1, "perf_event_paranoid is 4, wanted is 1 or less"},
        {EACCES, "2", 1, "wanted is 1 or less, or CAP_PERFMON"},
        {EPERM, "", 2, "system call filter"},
        {ENOENT, "2", 2, "no such hardware event"},
        {EOPNOTSUPP, "2", 2, "no PEBS"},
        {ENOSYS, "", 2, "without perf events"},
        {EBADF, "2", 2, "Bad file descriptor"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char out[200];
        hm_perf_explain(rows[i].number, rows[i].paranoid, rows[i].wanted, out, sizeof(out));
        if (!strstr(out, rows[i].text))
            fail_msg("%d: %s", rows[i].number, out);
    }
}

static void test_budget(void **state)
{
    (void)state;
    struct hm_perf_budget budget;
    hm_perf_budget_init(&budget, 1000, 0);
    /* within the budget: never finer than wanted */
    for (int i = 0; i < 500; i++)
        assert_false(hm_perf_budget_next(&budget, i % 2 ? 0.0 : 1.0, 1.0, false));
    assert_int_equal(budget.period, 1000);
    /* above the budget: coarser at once, by as much as is needed */
    assert_true(hm_perf_budget_next(&budget, 5.0, 1.0, false));
    assert_int_equal(budget.period, 8000);
    assert_true(hm_perf_budget_next(&budget, 0.0, 1.0, true)); /* the kernel throttled: coarser, whatever was spent */
    assert_int_equal(budget.period, 16000);
    /* for long within the budget, but above a quarter of it: no change, and no swinging */
    for (int i = 0; i < 500; i++)
        assert_false(hm_perf_budget_next(&budget, 0.3, 1.0, false));
    assert_int_equal(budget.period, 16000);
}

/* Sampling becomes finer only after a while, which grows, up to a limit, each time that sampling cost too much. */
static void test_budget_patience(void **state)
{
    (void)state;
    struct hm_perf_budget budget;
    int spans[8] = {0};
    hm_perf_budget_init(&budget, 16, 0);
    for (int turn = 0; turn < 8; turn++) {
        assert_true(hm_perf_budget_next(&budget, 2.0, 1.0, false)); /* a period of 16 always costs too much */
        assert_int_equal(budget.period, 32);
        do
            spans[turn]++;
        while (!hm_perf_budget_next(&budget, 0.1, 1.0, false));
        assert_int_equal(budget.period, 16);
    }
    assert_int_equal(spans[0], 2 * HM_PERF_PATIENCE);
    assert_int_equal(spans[1], 4 * HM_PERF_PATIENCE);
    assert_int_equal(spans[7], HM_PERF_PATIENCE_MOST);
    /* a span that costs a quarter of the budget or more restarts the count */
    hm_perf_budget_init(&budget, 16, 0);
    hm_perf_budget_next(&budget, 2.0, 1.0, false);
    for (int i = 0; i < 2 * HM_PERF_PATIENCE - 1; i++)
        assert_false(hm_perf_budget_next(&budget, 0.1, 1.0, false));
    assert_false(hm_perf_budget_next(&budget, 0.5, 1.0, false));
    assert_false(hm_perf_budget_next(&budget, 0.1, 1.0, false));
    assert_int_equal(budget.period, 32);
}

static void test_budget_ends(void **state)
{
    (void)state;
    struct hm_perf_budget budget;
    hm_perf_budget_init(&budget, 3, 0);
    assert_true(hm_perf_budget_next(&budget, 1.0, 0.0, false)); /* without any budget: as coarse as possible */
    assert_int_equal(budget.period, 3 * (uint64_t)HM_PERF_COARSEST);
    assert_false(hm_perf_budget_next(&budget, 1.0, 0.0, true));
    assert_int_equal(budget.period, 3 * (uint64_t)HM_PERF_COARSEST);
    hm_perf_budget_init(&budget, 1024, 5000); /* the hardware can have no period above 5000 */
    assert_true(hm_perf_budget_next(&budget, 1.0, 0.0, false));
    assert_int_equal(budget.period, 4096);
    assert_false(hm_perf_budget_next(&budget, 1.0, 0.0, true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse_refuses),
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_explain),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_budget_patience),
        cmocka_unit_test(test_budget_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
