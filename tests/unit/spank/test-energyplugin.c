/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which of Slurm's energy plugins measure a node, and which value of slurmd's answers is its counter. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "spank/energyplugin.h"
#include "unit/lib/rows.h"

#define TYPE "acct_gather_energy/"
#define NO_NUMBER_64 UINT64_C(0xfffffffffffffffe) /* Slurm's NO_VAL64 */
#define NO_NUMBER_32 UINT32_C(0xfffffffe)         /* NO_VAL */

static struct hm_error reason;

static void test_types_that_do_not_measure_the_node(void **state)
{
    (void)state;
    static const struct {
        const char *type, *text;
    } rows[] = {
        {NULL, "AcctGatherEnergyType is not set in slurm.conf"},
        {"", "AcctGatherEnergyType is not set in slurm.conf"},
        {"none", TYPE "none measures nothing (the default where AcctGatherEnergyType is not set)"},
        {TYPE "none", TYPE "none measures nothing (the default where AcctGatherEnergyType is not set)"},
        {"rapl", TYPE "rapl adds packages and DRAM up to one figure (powercap and perf have a figure of each)"},
        {TYPE "gpu", TYPE "gpu measures GPUs alone"},
        {"ibmaem", TYPE "ibmaem is not known to hybridmem"},
        {"pm_counter", TYPE "pm_counter is not known to hybridmem"},
        {"pm_counters2", TYPE "pm_counters2 is not known to hybridmem"},
        {"gpu,x", TYPE "gpu measures GPUs alone; " TYPE "x is not known to hybridmem"},
        {TYPE "gpu," TYPE "ipmi",
         TYPE "gpu measures GPUs alone; " TYPE "ipmi has to be the first of AcctGatherEnergyType"},
        {",", TYPE " is not known to hybridmem"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        if (hm_energy_plugin_find(rows[i].type, &reason))
            fail_msg("row %zu was taken", i);
        assert_string_equal(reason.text, rows[i].text);
    }
    char many[4096];
    memset(many, ',', sizeof(many));
    many[sizeof(many) - 1] = '\0';
    assert_null(hm_energy_plugin_find(many, &reason));
    assert_int_equal(strlen(reason.text), sizeof(reason.text) - 1);
}

static void test_types_that_measure_the_node(void **state)
{
    (void)state;
    static const struct {
        const char *type, *name;
        bool is_raw;
    } rows[] = {
        {"pm_counters", "pm_counters", true},
        {TYPE "ipmi", "ipmi", false},
        {TYPE "xcc", "xcc", false},
        {TYPE "ipmi," TYPE "gpu", "ipmi", false},
        {"pm_counters,rapl", "pm_counters", true},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct hm_energy_plugin *plugin = hm_energy_plugin_find(rows[i].type, &reason);
        assert_non_null(plugin);
        assert_string_equal(plugin->name, rows[i].name);
        assert_int_equal(plugin->is_raw, rows[i].is_raw);
    }
}

/* Each row is an answer that slurmd gave between the seconds 100 and 102. */
static void test_answers_without_a_value(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        struct hm_energy_answer answer; /* its last member: the second in which slurmd read the sensor */
        int number;
        const char *text;
    } rows[] = {
        {"ipmi", {0, 0, 0, 0, 0}, EBADMSG, "slurmd has no sensor of " TYPE "ipmi"},
        {"ipmi", {3, 50, 40, 300, 101}, EBADMSG, TYPE "ipmi has 3 sensors, and Slurm does not say which is the node's"},
        {"ipmi", {1, 0, 0, 0, 101}, EBADMSG, "slurmd could not read the energy by " TYPE "ipmi"},
        {"ipmi", {1, NO_NUMBER_64, 0, 0, 101}, EBADMSG, "slurmd could not read the energy by " TYPE "ipmi"},
        {"pm_counters", {1, NO_NUMBER_64, 0, 0, 0}, EBADMSG, "slurmd could not read the energy by " TYPE "pm_counters"},
        /* the counter's file is gone, so the consumed energy is below zero */
        {"pm_counters",
         {1, UINT64_MAX - 5, 0, 300, 101},
         EBADMSG,
         "slurmd could not read the energy by " TYPE "pm_counters"},
        {"pm_counters",
         {1, 0, 0, NO_NUMBER_32, 101},
         EBADMSG,
         "slurmd could not read the energy by " TYPE "pm_counters"},
        {"ipmi", {1, 50, 40, 300, 99}, EAGAIN, "slurmd has not read " TYPE "ipmi for 3 s"},
        {"ipmi", {1, 50, 40, 300, 0}, EAGAIN, "slurmd has not read " TYPE "ipmi for 102 s"},
        {"xcc", {1, 50, 40, 300, 104}, EBADMSG, TYPE "xcc dates its reading 2 s ahead of this node's clock"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        uint64_t joules = 1;
        const struct hm_energy_plugin *plugin = hm_energy_plugin_find(rows[i].type, &reason);
        errno = 0;
        if (hm_energy_plugin_value(plugin, &rows[i].answer, 100, 102, &joules, &reason) != -1)
            fail_msg("row %zu is a value", i);
        assert_int_equal(errno, rows[i].number);
        assert_int_equal(joules, 0);
        assert_string_equal(reason.text, rows[i].text);
    }
}

static void test_values(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        struct hm_energy_answer answer;
        uint64_t joules;
    } rows[] = {
        /* slurmd reads this counter for each answer, and gives it as previous_j, the third member */
        {"pm_counters", {1, 0, 123456789, 300, 100}, 123456789},
        {"pm_counters", {1, 40, 123456789, 0, 102}, 123456789},
        {"ipmi", {1, 50, 40, 300, 101}, 50},
        {"ipmi", {1, 0, 0, 300, 101}, 0}, /* the first reading */
        {"xcc", {1, INT64_MAX, 40, 0, 102}, INT64_MAX},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        uint64_t joules = 1;
        const struct hm_energy_plugin *plugin = hm_energy_plugin_find(rows[i].type, &reason);
        assert_int_equal(hm_energy_plugin_value(plugin, &rows[i].answer, 100, 102, &joules, &reason), 0);
        assert_true(joules == rows[i].joules);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types_that_do_not_measure_the_node),
        cmocka_unit_test(test_types_that_measure_the_node),
        cmocka_unit_test(test_answers_without_a_value),
        cmocka_unit_test(test_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
