/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how scontrol's answers about Slurm's configuration and a job's CPUs are read, and how its failures are
 * reported. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "slurm/nodelist.h"
#include "slurm/program.h"
#include "slurm/scontrol.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

static struct hm_error error;

static void test_values(void **state)
{
    (void)state;
    static const char text[] = "Configuration data as of now\n"
                               "EpilogSlurmctld[0]      = /a\n"
                               "EpilogSlurmctld[1]      = /b c\n"
                               "SLURM_VERSION           = 24.11.5\n"
                               "Empty                   = \n"
                               "NoSign\n"
                               "Last= x";
    static const struct {
        const char *name, *value;
        bool is_there;
    } rows[] = {
        {"SLURM_VERSION", "24.11.5", true},
        {"EpilogSlurmctld", "/a", true},
        {"Empty", "", true},
        {"NoSign", "", false},
        {"SLURM", "", false},
        {"None", "", false},
        {"Last", "x", true},
    };
    char value[16];
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        if ((hm_scontrol_value(text, rows[i].name, value, sizeof(value)) != NULL) != rows[i].is_there ||
            strcmp(value, rows[i].value) != 0)
            fail_msg("%s: \"%s\"", rows[i].name, value);
    }
    const char *at = hm_scontrol_value(text, "EpilogSlurmctld", value, sizeof(value));
    at = hm_scontrol_value(at, "EpilogSlurmctld", value, sizeof(value));
    assert_string_equal(value, "/b c");
    assert_null(hm_scontrol_value(at, "EpilogSlurmctld", value, sizeof(value)));
    char little[4];
    assert_non_null(hm_scontrol_value(text, "SLURM_VERSION", little, sizeof(little)));
    assert_string_equal(little, "24.");
}

/* An answer that is cut short is not read past its end. */
static void test_a_value_without_its_end(void **state)
{
    (void)state;
    char value[16];
    static const char *const cuts[] = {"Last", "Last[", "Last[1", "Last[1]", "Last[1] "};
    for (size_t i = 0; i < N_ROWS(cuts); i++) {
        char *text = strdup(cuts[i]); /* of just this size, so that a read past its end is seen */
        assert_null(hm_scontrol_value(text, "Last", value, sizeof(value)));
        free(text);
    }
}

static const char *write_script(const char *commands)
{
    const char *path = scratch_path("scontrol");
    char text[256] = "#!/bin/sh\n";
    strncat(text, commands, sizeof(text) - strlen(text) - 1);
    scratch_write(path, text);
    assert_int_equal(chmod(path, 0700), 0);
    return path;
}

static void test_a_scontrol_that_answers_or_fails(void **state)
{
    (void)state;
    char text[64];
    setenv("SLURM_CONF", "/etc/here", 1);
    setenv("HM_SECRET", "x", 1);
    assert_int_equal(
        hm_scontrol_config(write_script("echo \"$* $SLURM_CONF $HM_SECRET.\""), text, sizeof(text), &error), 0);
    assert_string_equal(text, "show config /etc/here .\n");
    const char *path = write_script("echo no controller >&2; echo more; exit 3");
    assert_int_equal(hm_scontrol_config(path, text, sizeof(text), &error), -1);
    assert_int_equal(errno, EIO);
    assert_non_null(strstr(error.text, "/scontrol show config failed: no controller"));
    assert_int_equal(hm_scontrol_config(write_script("exit 1"), text, sizeof(text), &error), -1);
    assert_string_equal(error.text + strlen(path), " show config failed");
    assert_int_equal(hm_scontrol_config("/nonexistent/scontrol", text, sizeof(text), &error), -1);
    assert_int_equal(errno, ENOENT);
}

/* Stands for a slurmctld with an array of 700 tasks of 2 KiB, whose last one has its number, and with job 13. */
int __wrap_hm_slurmprogram_ask(char *const *words, int patience_ms, char *text, size_t size, struct hm_error *why);
int __wrap_hm_slurmprogram_ask(char *const *words, int patience_ms, char *text, size_t size, struct hm_error *why)
{
    const char *name = words[5];
    size_t used = 0;
    (void)patience_ms, (void)why;
    if (strcmp(name, "13") == 0)
        snprintf(text, size, "JobId=13 JobName=x   Nodes=n1 CPU_IDs=4-5 Mem=0\n");
    for (int i = 0; strncmp(name, "12", 2) == 0 && i < (strcmp(name, "12") == 0 ? 700 : 1); i++) {
        int more = snprintf(text + used, size - used,
                            "JobId=%d ArrayJobId=12 ArrayTaskId=%d JobName=%2000s   Nodes=n1 CPU_IDs=0-3 Mem=0\n",
                            i == 0 ? 12 : 100 + i, i == 0 ? 700 : i, "x");
        used = used + (size_t)more < size ? used + (size_t)more : size - 1;
    }
    return 0;
}

static void test_the_cpus_of_an_arrays_last_task(void **state)
{
    (void)state;
    struct hm_set cpus;
    assert_int_equal(hm_scontrol_cpus(12, "n1", &cpus, &error), 0);
    assert_int_equal(hm_set_count(&cpus), 4);
    assert_int_equal(hm_scontrol_cpus(13, "n1", &cpus, &error), 0);
    assert_int_equal(hm_set_count(&cpus), 2);
}

static void test_nodes_in_lists(void **state)
{
    (void)state;
    static const struct {
        const char *list, *node;
        bool is_there;
    } rows[] = {
        {"n1", "n1", true},
        {"n1", "n", false},
        {"n1", "n10", false},
        {"n2,n1", "n1", true},
        {"n[2,4-6],m1", "n5", true},
        {"n[2,4-6],m1", "m1", true},
        {"n[2,4-6],m1", "n3", false},
        {"n[8-12]", "n10", true},
        {"n[8-12]", "n010", false},
        {"n[008-012]", "n010", true},
        {"n[008-012]", "n10", false},
        {"n[098-101]", "n101", true},
        {"n[1-3]-ib", "n2-ib", true},
        {"n[1-3]-ib", "n2", false},
        {"r[1-2]n[01-16]", "r2n09", true},
        {"r[1-2]n[01-16]", "r3n09", false},
        {"a[1-2][3-4]", "a13", true},
        {"n[000000000000000001-000000000000000003]", "n000000000000000002", true},
        {"", "n1", false},
        {"n1", "", false},
        {"", "", false},
        {"n[", "n1", false},
        {"n[1", "n1", false},
        {"n[]", "n1", false},
        {"n[x-1]", "n1", false},
        {"n[1-]", "n1", false},
        {"n[99999999999999999999-1]", "n1", false},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++)
        if (hm_nodelist_has(rows[i].list, strlen(rows[i].list), rows[i].node) != rows[i].is_there)
            fail_msg("%s in %s", rows[i].node, rows[i].list);
}

/* `scontrol show job 5` shows all jobs of an array, `scontrol show job 5_3` one of them. The name that shows one job
 * alone comes from fields which stand before any text that a user can write. */
static void test_the_job_that_is_shown(void **state)
{
    (void)state;
    static const struct {
        const char *text, *name; /* NULL: it is not job 7 */
    } rows[] = {
        {"JobId=7 JobName=x", "7"},
        {"scontrol: a warning\nJobId=7 JobName=x", "7"},
        {"JobId=7 ArrayJobId=5 ArrayTaskId=3 JobName=x", "5_3"},
        {"JobId=7 ArrayJobId=7 ArrayTaskId=3 ArrayTaskThrottle=2 JobName=x\nJobId=8 ArrayJobId=7 JobName=y", "7_3"},
        {"JobId=7 ArrayJobId=7 ArrayTaskId=3-9 JobName=x", "7"},
        {"JobId=7 HetJobId=6 HetJobOffset=1 JobName=x", "6+1"},
        /* what is no number of a job, or would overflow to the number of another job, is ignored */
        {"JobId=7 ArrayJobId=-5 ArrayTaskId=3 JobName=x", "7"},
        {"JobId=7 ArrayJobId= 5 ArrayTaskId=3 JobName=x", "7"},
        {"JobId=7 HetJobId=18446744073709551621 HetJobOffset=1 JobName=x", "7"},
        {"JobId=7 JobName=HetJobId=6 HetJobOffset=1 ", "7"},
        {"JobId=8 JobName=x\nJobId=7 JobName=y", NULL},
        {"JobId=70 JobName=x", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char name[32];
        int result = hm_scontrol_parse_job(rows[i].text, 7, name, sizeof(name), &error);
        if (result != (rows[i].name ? 0 : -1) || (result == 0 && strcmp(name, rows[i].name) != 0))
            fail_msg("%s", rows[i].text);
    }
}

#define REST " Mem=0 GRES= "
#define TRUE_CPUS "   Nodes=n[1-2] CPU_IDs=0-3" REST
#define FORGED "Nodes=n1 CPU_IDs=32-63"

static void test_cpus_of_a_job(void **state)
{
    (void)state;
    static const struct {
        const char *text, *cpus; /* NULL: not known */
        int number;
    } rows[] = {
        {"JobId=7 NodeList=n1   Nodes=n1 CPU_IDs=0-1,4" REST "MinCPUsNode=1", "0-1,4", 0},
        {"JobId=7 JobName=x" TRUE_CPUS, "0-3", 0},
        {"JobId=7 JobName=x Nodes=n1 CPU_IDs=0" REST, "0", 0}, /* Slurm 25.11 and later: one blank */
        {"JobId=7 JobName=x\n   Nodes=n1 CPU_IDs=0" REST, "0", 0},
        {"JobId=7   Nodes=n2 CPU_IDs=3" REST "  Nodes=n1 CPU_IDs=5" REST, "5", 0},
        {"JobId=7   Nodes=n1 CPU_IDs=5" REST "  Nodes=n2 CPU_IDs=3" REST, "5", 0},
        {"JobId=7   Nodes=n2 CPU_IDs=3" REST "  Nodes=n[1,3] CPU_IDs=5" REST, "5", 0},
        {"JobId=7 JobName=Nodes=n2 CPU_IDs=1" TRUE_CPUS, "0-3", 0},
        {"JobId=7 JobName=x " FORGED " UserId=1" TRUE_CPUS, NULL, EBADMSG},
        {"JobId=7 JobName=x" TRUE_CPUS "Comment=" FORGED " " FORGED, NULL, EBADMSG},
        {"JobId=7 JobName=x\nJobId=7 JobName=y " FORGED REST "\nJobId=8 " TRUE_CPUS, NULL, EBADMSG},
        {"JobId=7 JobName=x\n" FORGED "\n" TRUE_CPUS, NULL, EBADMSG},
        {"JobId=7 JobName=x Nodes=m[0-9],n[0-1] CPU_IDs=x" TRUE_CPUS, NULL, EBADMSG},
        {"JobId=7 JobName=x Nodes=Nodes=n1" TRUE_CPUS, "0-3", 0},
        {"JobId=7 JobName=x Nodes=n1 CPU_IDs=Nodes=n1" TRUE_CPUS, NULL, EBADMSG},
        {"JobId=7   Nodes=n2 CPU_IDs=3" REST, NULL, EINVAL},
        {"JobId=7   Nodes=n1 CPU_IDs=x" REST, NULL, EINVAL},
        {"JobId=7   Nodes=n1", NULL, EINVAL},
        {"", NULL, EINVAL},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char list[64];
        struct hm_set cpus;
        errno = 0;
        int result = hm_scontrol_parse_cpus(rows[i].text, "n1", &cpus, &error);
        if (result != (rows[i].cpus ? 0 : -1) || (result != 0 && errno != rows[i].number) ||
            (result == 0 && strcmp(hm_set_format(&cpus, list, sizeof(list)), rows[i].cpus) != 0))
            fail_msg("%s", rows[i].text);
    }
}

/* Slurm's own words are found, however long the list of nodes in them is, and so are a user's words after them. */
static void test_long_lists_of_nodes(void **state)
{
    (void)state;
    static char text[1 << 16];
    struct hm_set cpus;
    size_t used = (size_t)snprintf(text, sizeof(text), "JobId=7 JobName=" FORGED "   Nodes=");
    while (used < sizeof(text) - 1024)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "m%zu,", used);
    snprintf(text + used, sizeof(text) - used, "n1 CPU_IDs=0-3" REST);
    assert_int_equal(hm_scontrol_parse_cpus(text, "n1", &cpus, &error), 0);
    snprintf(text + used, sizeof(text) - used, "n1 CPU_IDs=0-3" REST "Comment= " FORGED);
    assert_int_equal(hm_scontrol_parse_cpus(text, "n1", &cpus, &error), -1);
    assert_int_equal(errno, EBADMSG);
    assert_non_null(strstr(error.text, "its user has written the same words"));
}

static void test_a_list_of_cpus_that_is_too_long(void **state)
{
    (void)state;
    char text[2048];
    struct hm_set cpus;
    snprintf(text, sizeof(text), "JobId=7   Nodes=n1 CPU_IDs=%01024d" REST, 0);
    assert_int_equal(hm_scontrol_parse_cpus(text, "n1", &cpus, &error), -1);
    assert_non_null(strstr(error.text, "list of CPUs of node n1 has more than 1023 characters"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_a_value_without_its_end),
        cmocka_unit_test(test_the_cpus_of_an_arrays_last_task),
        cmocka_unit_test(test_nodes_in_lists),
        cmocka_unit_test(test_the_job_that_is_shown),
        cmocka_unit_test(test_cpus_of_a_job),
        cmocka_unit_test(test_long_lists_of_nodes),
        cmocka_unit_test(test_a_list_of_cpus_that_is_too_long),
        cmocka_unit_test(test_a_scontrol_that_answers_or_fails),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
