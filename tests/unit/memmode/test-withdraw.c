/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how a mode is taken back from what slurmctld offers of a node, and what is written to the job: scontrol and
 * squeue are simulated. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/patience.h"
#include "memmode/commands/parts.h"
#include "memmode/decide/offer.h"
#include "slurm/scontrol.h"
#include "slurm/squeue.h"
#include "unit/lib/rows.h"

#define BOTH "memmode=flat,memmode=cache"

/* What a look shows, one letter each; the last one stays: b the helper's node boots, d down, i idle, x scontrol fails,
 * r idle, and slurmd has just reported, w idle, and somebody has just withdrawn all but flat, s scontrol fails after
 * 20 s. The data is gone from the look `gone` on, which
 * counts from 1; 0: it stays. */
static const struct row {
    const char *about, *looks, *features;
    int result, offers, n_looks;
    const char *offered; /* at the end */
    int gone;
    bool is_young; /* it is no data, but the time since the boot */
} rows[] = {
    {"back in service", "bddi", BOTH, 0, 1, 9, .offered = "memmode=flat"},
    {"beside a feature of the site's", "i", "skylake," BOTH, 0, 1, 6, .offered = "skylake,memmode=flat"},
    {"the only one", "i", "memmode=cache", 0, 1, 6, .offered = ""},
    {"slurmd reports once more", "biir", BOTH, 0, 2, 9, .offered = "memmode=flat"},
    {"a name that begins like it", "i", "memmode=cache2,memmode=cache", 0, 1, 6, .offered = "memmode=cache2"},
    {"not offered", "i", "memmode=flat", 0, 0, 5, .offered = "memmode=flat"},
    {"stays down", "bd", BOTH, 0, 1, 35, .offered = "memmode=flat"},
    {"slurmctld is away for some looks", "bxxxi", BOTH, 0, 1, 10, .offered = "memmode=flat"},
    {"slurmctld is away", "x", BOTH, -1, 0, 35, .offered = BOTH},
    {"slurmctld is silent", "s", BOTH, -1, 0, 6, .offered = BOTH},
    {"slurmctld is silent after the first", "is", BOTH, -1, 1, 7, .offered = "memmode=flat"},
    {"the data goes before it is taken back", "bbb", BOTH, 1, 0, 1, .offered = BOTH, .gone = 2},
    {"the data goes afterwards", "i", "skylake," BOTH, 1, 2, 4, .offered = "skylake,memmode=flat,memmode=cache",
     .gone = 3},
    {"it was the only one", "i", "memmode=cache", 1, 2, 3, .offered = "memmode=cache", .gone = 2},
    {"the data goes after slurmd has reported", "iir", BOTH, 1, 1, 3, .offered = BOTH, .gone = 3},
    {"the data goes, and slurmctld is away for a look", "iixi", BOTH, 1, 2, 5, .offered = "memmode=flat,memmode=cache",
     .gone = 3},
    {"the data goes, and slurmctld is silent", "is", BOTH, -1, 1, 7, .offered = "memmode=flat", .gone = 2},
    {"the data goes, and who withdraws another mode undoes it", "iiwi", BOTH, 1, 3, 4,
     .offered = "memmode=flat,memmode=cache", .gone = 2},
    {"it is up for long enough afterwards", "i", BOTH, 1, 2, 3, .offered = "memmode=flat,memmode=cache", .gone = 2,
     .is_young = true},
    {"it is not up for long enough", "i", BOTH, 0, 1, 6, .offered = "memmode=flat", .is_young = true},
    {"the site has withdrawn it itself", "i", "memmode=flat", 1, 0, 1, .offered = "memmode=flat", .gone = 2},
};
static const struct row *row;
static struct {
    char features[128];
    int looks, offers, spaces_looks;
    unsigned seconds; /* since it began */
} node;

/* All namespaces are of users, who keep them. */
int hm_memmode_look(struct hm_memmode_state *state, struct hm_error *error)
{
    (void)error;
    bool is_gone = row->gone > 0 && ++node.spaces_looks >= row->gone;
    state->spaces = (struct hm_memmode_spaces){.n_kept = !row->is_young && !is_gone};
    state->up_s = is_gone ? state->least_s : 0;
    return 0;
}

bool hm_patience_pause(uint64_t *since_ns, unsigned patience_s)
{
    (void)since_ns;
    return patience_s > 60 && node.seconds < patience_s;
}

int hm_scontrol_node(const char *name, char *text, size_t size, struct hm_error *error)
{
    static const char *const states[] = {
        ['b'] = "ALLOCATED+POWERING_UP", ['d'] = "DOWN", ['i'] = "IDLE", ['r'] = "IDLE", ['w'] = "IDLE"};
    size_t last = strlen(row->looks) - 1, at = (size_t)node.looks < last ? (size_t)node.looks : last;
    char look = row->looks[at];
    bool is_first = (size_t)node.looks == at;
    node.looks++;
    assert_string_equal(name, "n1");
    node.seconds += look == 's' ? 20 : 2;
    if (look == 'x' || look == 's')
        return hm_fail(error, EIO, "slurmctld is silent");
    if (is_first && (look == 'r' || look == 'w'))
        snprintf(node.features, sizeof(node.features), "%s", look == 'r' ? row->features : "memmode=flat");
    snprintf(text, size,
             "NodeName=n1 Arch=x86_64 CPUTot=1 \n AvailableFeatures=%s ActiveFeatures=x State=%s Weight=1\n",
             node.features, states[(int)look]);
    return 0;
}

int hm_scontrol_offer(const char *name, const char *features, struct hm_error *error)
{
    (void)error;
    assert_string_equal(name, "n1");
    snprintf(node.features, sizeof(node.features), "%s", features);
    node.offers++;
    return 0;
}

static void takes_the_mode_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_error error = {{0}};
        row = &rows[i];
        memset(&node, 0, sizeof(node));
        snprintf(node.features, sizeof(node.features), "%s", row->features);
        const struct hm_memmode_state then = {
            .by = HM_MEMMODE_BY_BIOS, .bios.now = HM_MEMMODE_FLAT, .least_s = row->is_young ? 60 : 0};
        int result = hm_memmode_keep_withdrawn("n1", HM_MEMMODE_CACHE, &then, &error);
        if (result != row->result || (result < 0 && !error.text[0]) || node.offers != row->offers ||
            node.looks != row->n_looks || strcmp(node.features, row->offered) != 0)
            fail_msg("%s: %d, %d offers in %d looks, \"%s\"", row->about, result, node.offers, node.looks,
                     node.features);
    }
}

static void reads_only_what_is_there(void **state)
{
    char rest[16];
    (void)state;
    assert_false(hm_offer_is_up("NodeName=n1 Arch=x86_64\n"));
    assert_false(hm_offer_is_up(" State=IDLE+REBOOT_ISSUED x"));
    assert_true(hm_offer_is_up(" State=MIXED x"));
    assert_int_equal(hm_offer_without("NodeName=n1\n", "a", rest, sizeof(rest)), -1);
    assert_int_equal(hm_offer_without(" AvailableFeatures=a-name-that-is-long,a\n", "a", rest, sizeof(rest)), -1);
    assert_int_equal(hm_offer_without(" AvailableFeatures=(null) x", "a", rest, sizeof(rest)), 0);
    assert_string_equal(rest, "");
}

static struct {
    int found;
    const char *comment;
    char noted[256];
} job;

int hm_squeue_configuring(const char *name, uint32_t *job_id, char *comment, size_t size, struct hm_error *error)
{
    assert_string_equal(name, "n1");
    *job_id = 12;
    snprintf(comment, size, "%s", job.comment);
    return job.found < 0 ? hm_fail(error, EIO, "slurmctld is silent") : job.found;
}

/* The last task of an array has the array's number. */
int hm_scontrol_name(uint32_t job_id, const char *likely, char *name, size_t size, struct hm_error *error)
{
    (void)likely, (void)error;
    assert_int_equal(job_id, 12);
    snprintf(name, size, "12_3");
    return 0;
}

int hm_scontrol_comment(const char *name, const char *comment, struct hm_error *error)
{
    (void)error;
    assert_string_equal(name, "12_3");
    snprintf(job.noted, sizeof(job.noted), "%s", comment);
    return 0;
}

static void notes_the_reason(void **state)
{
#define REASON "hybridmem: node n1 cannot take memmode=cache for now: namespaces there hold data"
    static const struct {
        int found;
        const char *comment, *noted;
        int result;
    } cases[] = {
        {1, "", REASON, 0},       {1, "hybridmem: node n7 cannot", REASON, 0},
        {1, "the site's", "", 0}, /* what another has written stays */
        {0, "", "", 0},           {-1, "", "", -1},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(cases); i++) {
        job.found = cases[i].found;
        job.comment = cases[i].comment;
        job.noted[0] = '\0';
        int result = hm_memmode_note_job("n1", HM_MEMMODE_CACHE, "namespaces there hold data", NULL);
        if (result != cases[i].result || strcmp(job.noted, cases[i].noted) != 0)
            fail_msg("case %zu: %d, \"%s\"", i, result, job.noted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(takes_the_mode_back),
                                       cmocka_unit_test(reads_only_what_is_there), cmocka_unit_test(notes_the_reason)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
