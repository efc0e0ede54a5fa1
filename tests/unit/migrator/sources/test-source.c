/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the table of sources, which source "auto" takes and why, and what perf is asked for. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fakeperf.h"
#include "migrator/perf/ring.h"
#include "migrator/sources/perfwatch.h"
#include "unit/lib/rows.h"

static const struct hm_perf_cpu amd = {"AuthenticAMD", 0x19, 0x11, false}, other = {"Other", 1, 1, false};

static void test_bad_names(void **state)
{
    (void)state;
    static const char *const names[] = {"", "Perf", "perf ", "auto,perf", "pebs"};
    for (size_t i = 0; i < N_ROWS(names); i++) {
        char why[HM_WARNING] = "x";
        struct hm_error error = {""};
        assert_null(hm_source_open(names[i], &usual, why, &error));
        assert_int_equal(errno, EINVAL);
        assert_non_null(strstr(error.text, "is not a source: use auto, perf"));
        assert_string_equal(why, "");
    }
}

static void test_table(void **state)
{
    (void)state;
    const struct hm_source_row *row;
    char names[128], tiny[6];
    int n = 0;
    assert_null(hm_source_at(-1));
    hm_source_names(names, sizeof(names));
    for (; (row = hm_source_at(n)) != NULL; n++) {
        assert_non_null(strstr(names, row->name));
        assert_true(strlen(row->name) < HM_SOURCE_NAME);
        assert_true(*row->needs && *row->knows && *row->cost && row->open);
    }
    assert_string_equal(hm_source_at(0)->name, "perf");       /* best first */
    assert_string_equal(hm_source_at(n - 1)->name, "faults"); /* it needs no hardware and no broker */
    assert_string_equal(hm_source_names(tiny, sizeof(tiny)), "auto,");
}

static void test_auto(void **state)
{
    (void)state;
    static const struct {
        const struct hm_perf_cpu *cpu;
        int raw, software, user_only;
        bool refuses_wide;
        const char *name; /* NULL: none works */
        const char *why;  /* part of the reasons; "": none */
        const char *how;
    } rows[] = {
        {&fake_intel, EACCES, EACCES, 0, true, NULL, "perf: Intel Sapphire Rapids", ""},
        {&fake_intel, ENOSYS, ENOSYS, 0, true, NULL, "without perf events", ""},
        {&amd, EACCES, EACCES, EINVAL, true, NULL, "AMD Zen", ""},
        {&fake_intel, 0, 0, 0, false, "perf", "", "the whole cgroup"},
        {&fake_intel, 0, 0, 0, true, "perf", "", "each thread by itself"},
        {&fake_intel, ENOENT, 0, 0, false, "faults", "no such hardware event", "the whole cgroup"},
        {&fake_intel, EOPNOTSUPP, 0, 0, true, "faults", "no PEBS", "each thread"},
        /* only AMD's events are tried again so that the kernel is sampled, too: this error of Intel's is final */
        {&fake_intel, 0, 0, EINVAL, false, "faults", "in this form", ""},
        {&amd, 0, 0, 0, true, "perf", "", "each thread"},
        {&amd, 0, 0, EINVAL, false, "perf", "", ""}, /* without swfilt, which leaves the kernel out */
        {&fake_arm, 0, 0, 0, false, "perf", "", "each thread by itself: packets of SPE"},
        {&fake_arm, EACCES, 0, 0, false, "faults", "perf: Arm: the kernel refuses", ""},
        {&fake_arm, EOPNOTSUPP, 0, 0, false, "faults", "no filters of SPE", ""},
        {&other, 0, 0, 0, false, "faults", "no events of this processor are known", ""},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char why[HM_WARNING] = "x";
        struct hm_error error = {""};
        fake.cpu = *rows[i].cpu;
        fake.raw = rows[i].raw;
        fake.software = rows[i].software;
        fake.user_only = rows[i].user_only;
        fake.refuses_wide = rows[i].refuses_wide;
        struct hm_source *source = hm_source_open("auto", &usual, why, &error);
        if (!source != !rows[i].name || (source && strcmp(source->state.name, rows[i].name) != 0))
            fail_msg("row %zu: %s (%s%s)", i, source ? source->state.name : "none", why, error.text);
        assert_non_null(strstr(source ? why : error.text, rows[i].why));
        if (source && !*rows[i].why)
            assert_string_equal(why, "");
        if (!source)
            continue;
        assert_non_null(strstr(source->state.how, rows[i].how));
        assert_true(source->state.unit > 0 && source->state.unit == source->state.period);
        assert_true(source->state.kernel_cpu_s < 0); /* not measured */
        assert_int_equal(source->state.knows_writes, strcmp(rows[i].name, "perf") == 0);
        source->close(source);
    }
}

/* Checks the attributes that the kernel gets. */
static void test_attributes(void **state)
{
    (void)state;
    struct hm_source_setup setup = usual;
    char why[HM_WARNING];
    struct hm_source *source = hm_source_open("perf", &setup, why, NULL);
    assert_non_null(source);
    assert_int_equal(source->state.period, 65536);
    assert_int_equal(fake.last.type, PERF_TYPE_RAW);
    assert_int_equal(fake.last.config, 0x82d0);
    assert_int_equal(fake.last.sample_period, 65536);
    assert_true(fake.last.exclude_kernel && fake.last.exclude_hv && fake.last.watermark && !fake.last.freq);
    assert_int_equal(fake.last.sample_type & ~(uint64_t)HM_RING_SAMPLE_TYPES, 0);
    assert_true(fake.last.sample_type & PERF_SAMPLE_PERIOD);
    source->close(source);

    source = hm_source_open("faults", &setup, why, NULL);
    assert_non_null(source);
    assert_int_equal(fake.last.type, PERF_TYPE_SOFTWARE);
    assert_int_equal(fake.last.config, PERF_COUNT_SW_PAGE_FAULTS);
    assert_false(fake.last.sample_type & PERF_SAMPLE_PERIOD);
    source->close(source);

    setup.period = 1001;
    fake.cpu = amd;
    source = hm_source_open("perf", &setup, why, NULL);
    assert_non_null(source);
    assert_int_equal(source->state.period, 1008); /* IBS takes multiples of 16 */
    assert_int_equal(fake.last.type, 11);
    assert_int_equal(fake.last.config2, 1);
    source->close(source);

    fake.user_only = EINVAL;
    source = hm_source_open("perf", &setup, why, NULL);
    assert_non_null(source);
    assert_true(!fake.last.exclude_kernel && !fake.last.exclude_hv && fake.last.config2 == 0);
    source->close(source);
}

/* What SPE is asked for: loads and stores, with jitter; a period that it can have; nothing before there is an AUX area.
 */
static void test_attributes_of_spe(void **state)
{
    (void)state;
    static const struct {
        uint64_t asked, used;
    } rows[] = {{0, 65536},
                {100, 4096},
                {4096, 4096},
                {4097, 4352},
                {100000, 100096},
                {UINT64_C(1) << 32, 0xffffff00},
                {UINT64_C(1) << 40, 0xffffff00}};
    char why[HM_WARNING];
    fake.cpu = fake_arm;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_source_setup setup = usual;
        setup.period = rows[i].asked;
        struct hm_source *source = hm_source_open("perf", &setup, why, NULL);
        assert_non_null(source);
        assert_int_equal(source->state.period, rows[i].used);
        assert_int_equal(fake.last.sample_period, rows[i].used);
        source->close(source);
    }
    assert_int_equal(fake.last.type, 11);
    assert_int_equal(fake.last.config, UINT64_C(1) << 33 | UINT64_C(1) << 34 | 1 << 16);
    assert_true(fake.last.config1 == 0 && fake.last.config2 == 0);
    assert_true(fake.last.disabled && fake.last.exclude_kernel && !fake.last.inherit);
}

static void test_arm_without_spe(void **state)
{
    (void)state;
    struct hm_error error = {""};
    char why[HM_WARNING];
    fake.cpu = fake_arm;
    fake.has_no_formats = true;
    assert_null(hm_source_open("perf", &usual, why, &error));
    assert_non_null(strstr(error.text, "Arm: the PMU has no format for the term \"load_filter\""));
    fake.has_no_pmu = true;
    assert_null(hm_source_open("perf", &usual, why, &error));
    assert_non_null(strstr(error.text, "Arm: the kernel shows no arm_spe_0"));
}

static void test_weigh(void **state)
{
    (void)state;
    static const struct {
        uint64_t period, op;
        enum hm_perf_kind kind;
        float reads, writes, excess;
        bool knows_writes;
    } rows[] = {
        {1000, PERF_MEM_OP_NA, HM_PERF_LOADS, 1, 0, 0, true},
        {1000, PERF_MEM_OP_LOAD, HM_PERF_STORES, 0, 1, 0, true}, /* the event decides, not the sample */
        {4000, PERF_MEM_OP_LOAD, HM_PERF_BOTH, 4, 0, 3, true},   /* the variance of 4 times a count is 16 times it */
        {500, PERF_MEM_OP_STORE, HM_PERF_BOTH, 0, 0.5F, 0, true},
        {1000, PERF_MEM_OP_LOAD | PERF_MEM_OP_STORE, HM_PERF_BOTH, 0, 1, 0, true},
        {1000, PERF_MEM_OP_PFETCH, HM_PERF_BOTH, 1, 0, 0, true},
        {1000, PERF_MEM_OP_NA, HM_PERF_BOTH, 1, 0, 0, false},
        {1000, 0, HM_PERF_BOTH, 1, 0, 0, false},
        {1000, PERF_MEM_OP_STORE, HM_PERF_UNKNOWN, 1, 0, 0, false},
        {0, 0, HM_PERF_LOADS, 3, 0, 2, true}, /* the sample has no period: the period that was set counts */
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_ring_sample sample = {.period = rows[i].period, .data_src = rows[i].op};
        struct hm_observation seen = hm_perf_weigh(&sample, rows[i].kind, 3000, 1000);
        if (seen.reads != rows[i].reads || seen.writes != rows[i].writes || seen.excess != rows[i].excess ||
            seen.knows_writes != rows[i].knows_writes)
            fail_msg("row %zu: %f reads, %f writes, excess %f", i, (double)seen.reads, (double)seen.writes,
                     (double)seen.excess);
        assert_int_equal(seen.n_pages, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_bad_names, fake_perf_reset),
        cmocka_unit_test_setup(test_table, fake_perf_reset),
        cmocka_unit_test_setup(test_auto, fake_perf_reset),
        cmocka_unit_test_setup(test_attributes, fake_perf_reset),
        cmocka_unit_test_setup(test_attributes_of_spe, fake_perf_reset),
        cmocka_unit_test_setup(test_arm_without_spe, fake_perf_reset),
        cmocka_unit_test_setup(test_weigh, fake_perf_reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
