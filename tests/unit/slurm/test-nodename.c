/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how Slurm's name of this node is found: scontrol and the host's name are simulated. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "slurm/nodename.h"
#include "slurm/scontrol.h"
#include "unit/lib/rows.h"

#define NODE(name, host) "NodeName=" name " Arch=x86_64 Gres=(null) NodeAddr=x NodeHostName=" host " Version=24.11.5\n"
#define SILENT "slurmctld is silent"

static const struct row {
    const char *about;
    const char *told; /* SLURMD_NODENAME */
    const char *host;
    const char *by_short, *by_whole; /* what slurm.conf has; NULL: scontrol fails */
    const char *shown;               /* by slurmctld, for the host's name up to the dot; NULL: it fails */
    const char *name;                /* NULL: none */
    const char *said;                /* a part of the text */
} rows[] = {
    {"the host's own", NULL, "n1", "n1\n", "", NULL, "n1", NULL},
    {"another one", NULL, "c1r1", "n1\n", "", NULL, "n1", NULL},
    {"the one of a host that is called like another node", NULL, "n2", "n1\n", "", NODE("n2", "n1"), "n1", NULL},
    {"the host's name has a domain", NULL, "c1.example.org", "n1\n", "", NULL, "n1", NULL},
    {"in slurm.conf, too", NULL, "c1.example.org", "", "n1\n", NODE("c1", "c2"), "n1", NULL},
    {"told by slurmd's environment", "n7", "c1", NULL, NULL, NULL, "n7", NULL},
    {"told nothing", "", "c1", "n1\n", "", NULL, "n1", NULL},
    {"several slurmd", NULL, "c1", "n1 n2\n", "", NULL, NULL, "several nodes on the host c1 (n1 n2)"},
    {"dynamic", NULL, "d1", "\n", "", NODE("d1", "d1"), "d1", NULL},
    {"dynamic, with a domain", NULL, "d1.example.org", "", "", NODE("d1", "d1.example.org"), "d1", NULL},
    {"another host's", NULL, "d1", "", "", NODE("d1", "d11"), NULL, "the host d1 is not Slurm's node d1"},
    {"another host's, with a longer name", NULL, "d11", "", "", NODE("d11", "d1"), NULL, "is on another host"},
    {"unknown", NULL, "c9", "", "", NULL, NULL,
     "which node of Slurm's is the host c9? None of slurm.conf, and " SILENT},
    {"no slurm.conf", NULL, "c1", NULL, NULL, NODE("c1", "c1"), NULL, SILENT},
    {"too long", NULL, "c1", "a-name-of-more-than-sixteen-bytes\n", "", NULL, NULL, "too long"},
    {"told one that is too long", "a-name-of-more-than-sixteen-bytes", "c1", "", "", NULL, NULL, "SLURMD_NODENAME is"},
};
static const struct row *row;

int gethostname(char *name, size_t size)
{
    snprintf(name, size, "%s", row->host);
    return 0;
}

static int answer(const char *said, char *text, size_t size, struct hm_error *error)
{
    if (!said)
        return hm_fail(error, EIO, SILENT);
    snprintf(text, size, "%s", said);
    return 0;
}

int hm_scontrol_aliases(const char *host, char *text, size_t size, struct hm_error *error)
{
    return answer(strchr(host, '.') ? row->by_whole : row->by_short, text, size, error);
}

int hm_scontrol_node(const char *node, char *text, size_t size, struct hm_error *error)
{
    assert_int_equal(strlen(node), strcspn(row->host, "."));
    return answer(row->shown, text, size, error);
}

static void finds_the_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char name[16] = "";
        struct hm_error error = {{0}};
        row = &rows[i];
        if (row->told)
            setenv("SLURMD_NODENAME", row->told, 1);
        else
            unsetenv("SLURMD_NODENAME");
        int result = hm_nodename_find(name, sizeof(name), &error);
        if (result != (row->name ? 0 : -1) || (row->name && strcmp(name, row->name) != 0) ||
            (row->said ? !strstr(error.text, row->said) : error.text[0] != '\0'))
            fail_msg("%s: %d, \"%s\", \"%s\"", row->about, result, name, error.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(finds_the_name)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
