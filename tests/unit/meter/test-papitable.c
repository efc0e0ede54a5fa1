/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the table of PAPI's events, the words for measures and units, and what names of zones and events tell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "meter/papi/table.h"
#include "unit/lib/rows.h"

static void test_events(void **state)
{
    (void)state;
    static const struct {
        const char *component, *event;
        int n; /* number of rows */
        enum hm_papi_measure measure;
        enum hm_kind kind;
    } rows[] = {
        {"perf_event_uncore", "rapl::RAPL_ENERGY_PKG", 1, HM_PAPI_PACKAGE_ENERGY, HM_KIND_UNKNOWN},
        {"perf_event_uncore", "rapl::RAPL_ENERGY_DRAM", 1, HM_PAPI_MEMORY_ENERGY, HM_KIND_UNKNOWN},
        {"perf_event_uncore", "amd64_rapl::RAPL_ENERGY_PKG", 1, HM_PAPI_PACKAGE_ENERGY, HM_KIND_UNKNOWN},
        {"perf_event_uncore", "rapl::RAPL_ENERGY_CORES", 0, 0, 0},
        {"perf_event", "rapl::RAPL_ENERGY_PKG", 0, 0, 0},
        {"powercap", "powercap:::ENERGY_UJ:ZONE0", 1, HM_PAPI_PACKAGE_ENERGY, HM_KIND_UNKNOWN},
        {"powercap", "powercap:::ENERGY_UJ:ZONE1_SUBZONE2", 1, HM_PAPI_PACKAGE_ENERGY, HM_KIND_UNKNOWN},
        {"powercap", "powercap:::MAX_ENERGY_RANGE_UJ:ZONE0", 0, 0, 0},
        {"rapl", "rapl:::PACKAGE_ENERGY:PACKAGE1", 1, HM_PAPI_PACKAGE_ENERGY, HM_KIND_UNKNOWN},
        {"rapl", "rapl:::DRAM_ENERGY:PACKAGE1", 1, HM_PAPI_MEMORY_ENERGY, HM_KIND_UNKNOWN},
        {"rapl", "rapl:::PACKAGE_ENERGY_CNT:PACKAGE1", 0, 0, 0},
        /* reads and writes */
        {"perf_event_uncore", "skx_unc_imc0::UNC_M_CAS_COUNT", 2, HM_PAPI_READ_BYTES, HM_KIND_DRAM},
        {"perf_event_uncore", "spr_unc_imc11::UNC_M_CAS_COUNT", 2, HM_PAPI_READ_BYTES, HM_KIND_DRAM},
        {"perf_event_uncore", "icx_unc_imc3::UNC_M_PMM_RPQ_INSERTS", 1, HM_PAPI_READ_BYTES, HM_KIND_PMEM},
        {"perf_event_uncore", "icx_unc_imc3::UNC_M_PMM_WPQ_INSERTS", 1, HM_PAPI_WRITE_BYTES, HM_KIND_PMEM},
        {"perf_event_uncore", "skx_unc_imc0::UNC_M_CAS_COUNT_X", 0, 0, 0},
        {"perf_event_uncore", "skx_unc_imc::UNC_M_CAS_COUNT", 0, 0, 0},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct hm_papi_row *row;
        int found = 0;
        for (int r = 0; (row = hm_papi_row_find(&r, rows[i].component, rows[i].event)); r++) {
            if (found++ == 0 && (row->measure != rows[i].measure || row->kind != rows[i].kind))
                fail_msg("%s measures %s", rows[i].event, hm_papi_measure_name(row->measure));
        }
        if (found != rows[i].n)
            fail_msg("%s has %d rows", rows[i].event, found);
    }
}

/* Rows with a PMU of the kernel are no zones, and rows that count bytes have a kind of memory. */
static void test_rows(void **state)
{
    (void)state;
    const struct hm_papi_row *row;
    for (int i = 0; (row = hm_papi_row_at(i)); i++) {
        bool is_traffic = row->measure == HM_PAPI_READ_BYTES || row->measure == HM_PAPI_WRITE_BYTES;
        assert_true(!row->pmu || !row->is_zone);
        assert_int_equal(is_traffic, row->kind != HM_KIND_UNKNOWN);
        assert_int_equal(is_traffic, row->unit == HM_PAPI_LINE);
        assert_true(row->pmu || !row->mask[0]);
    }
    assert_null(hm_papi_row_at(-1));
}

static void test_zones(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool is_in_package;
        int result, socket;
        enum hm_papi_measure measure;
    } rows[] = {
        {"package-0\n", false, 0, 0, HM_PAPI_PACKAGE_ENERGY},
        {"package-12", false, 0, 12, HM_PAPI_PACKAGE_ENERGY},
        {"package-1-die-3\n", false, 0, 1, HM_PAPI_PACKAGE_ENERGY},
        {"psys\n", false, 0, -1, HM_PAPI_PLATFORM_ENERGY},
        {"dram\n", true, 0, -1, HM_PAPI_MEMORY_ENERGY},
        {"psys-1\n", false, 0, -1, HM_PAPI_PLATFORM_ENERGY},
        {"psys-", false, -1, 0, 0},
        {"psys1", false, -1, 0, 0},
        {"", false, -1, 0, 0},
        {"package-", false, -1, 0, 0},
        {"package-x", false, -1, 0, 0},
        {"package-1x", false, -1, 0, 0},
        {"package-99999999999", false, -1, 0, 0},
        {"dram", false, -1, 0, 0},
        {"core\n", true, -1, 0, 0},
        {"dram2", true, -1, 0, 0},
        {"package-0", true, -1, 0, 0},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        enum hm_papi_measure measure;
        int socket;
        if (hm_papi_zone(rows[i].name, rows[i].is_in_package, &measure, &socket) != rows[i].result)
            fail_msg("zone \"%s\"", rows[i].name);
        if (rows[i].result == 0 && (measure != rows[i].measure || socket != rows[i].socket))
            fail_msg("zone \"%s\": socket %d", rows[i].name, socket);
    }
}

static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *event, *key;
        int number;
    } rows[] = {
        {"rapl:::PACKAGE_ENERGY:PACKAGE1", "PACKAGE", -1}, /* no number follows the first "PACKAGE" */
        {"rapl:::PACKAGE_ENERGY:PACKAGE1", ":PACKAGE", -1},
        {"rapl:::PACKAGE_ENERGY:PACKAGE1", "ENERGY:PACKAGE", 1},
        {"rapl:::DRAM_ENERGY:PACKAGE0", "ENERGY:PACKAGE", 0},
        {"powercap:::ENERGY_UJ:ZONE7_SUBZONE0", "ZONE", 7},
        {"powercap:::ENERGY_UJ:ZONE", "ZONE", -1},
        {"powercap:::ENERGY_UJ:ZONE7x", "ZONE", -1},
        {"powercap:::ENERGY_UJ:ZONE77777777", "ZONE", -1},
        {"perf::CPU-CLOCK", "ZONE", -1},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++)
        assert_int_equal(hm_papi_number_in(rows[i].event, rows[i].key), rows[i].number);
}

static void test_words(void **state)
{
    (void)state;
    for (int i = 0; i < HM_PAPI_N_MEASURES; i++) {
        enum hm_papi_measure measure;
        assert_int_equal(hm_papi_measure_parse(hm_papi_measure_name((enum hm_papi_measure)i), &measure), 0);
        assert_int_equal(measure, i);
        assert_int_equal(hm_papi_measure_parse("energy", &measure), -1);
    }
    for (int i = 0; i < HM_PAPI_N_UNITS; i++) {
        enum hm_papi_unit unit;
        assert_int_equal(hm_papi_unit_parse(hm_papi_unit_name((enum hm_papi_unit)i), &unit), 0);
        assert_int_equal(unit, i);
        assert_int_equal(hm_papi_unit_parse("j", &unit), -1);
    }
    assert_true(hm_papi_unit_factor(HM_PAPI_RAPL_UNIT) * 4294967296.0 == 1);
    assert_true(hm_papi_unit_factor(HM_PAPI_LINE) == 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events),  cmocka_unit_test(test_rows),  cmocka_unit_test(test_zones),
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
