/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has slurmctld offer a mode of this node to no job for a time. Without that a job that the node has refused comes back
 * to it every two minutes. It lasts until slurmd reports to slurmctld again, which takes half an hour where
 * SlurmdTimeout is 300 s: each report brings all features of helpers.conf back. One comes right after the helper has
 * failed, so a process that outlives the helper waits for that. It gives the mode back where the node could take it
 * meanwhile: the data that forbade it has gone, say.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "base/patience.h"
#include "base/spawn.h"
#include "memmode/decide/offer.h"
#include "parts.h"
#include "slurm/scontrol.h"
#include "slurm/squeue.h"

#define LOOKS 30           /* until the node counts as one that stays DOWN, as without ReturnToService=2 */
#define SECURE 5           /* looks in which the mode stays withdrawn, after which it counts as that */
#define PAUSE_S 2          /* between two looks */
#define MOST_S 120         /* in all: slurmctld may take 20 s for each answer */
#define OURS "hybridmem: " /* begins what is noted at a job */

struct withdrawal {
    char node[HM_MEMMODE_NAME], feature[32];
    enum hm_memmode mode;
    struct hm_memmode_state state; /* of the node, as it was when the mode was refused */
    bool is_taken;                 /* the feature was taken back here */
};

/* Take the feature back where it is offered. Returns 1 where that was done, 0 where it is not offered, or -1. */
static int take_back(struct withdrawal *one, bool waits, struct hm_error *error)
{
    char text[8192], rest[1024];
    if (hm_scontrol_node(one->node, text, sizeof(text), error) != 0)
        return -1;
    if (waits && !hm_offer_is_up(text))
        return hm_fail(error, EAGAIN, "the node is not up");
    int found = hm_offer_without(text, one->feature, rest, sizeof(rest));
    if (found < 0)
        return hm_fail(error, EMSGSIZE, "scontrol does not show its features, or too many");
    if (found == 0)
        return 0;
    if (hm_scontrol_offer(one->node, rest, error) != 0)
        return -1;
    one->is_taken = true;
    return 1;
}

/* Offer the feature again, where it was taken back here. Returns 1 where that was done, 0 where it is offered, or -1:
 * who takes back another mode at the same time may undo it, so it is looked at again. */
static int give_back(const struct withdrawal *one, struct hm_error *error)
{
    char text[8192], features[1024];
    if (!one->is_taken)
        return 0;
    if (hm_scontrol_node(one->node, text, sizeof(text), error) != 0)
        return -1;
    int found = hm_offer_without(text, one->feature, features, sizeof(features) - sizeof(one->feature) - 1);
    if (found < 0)
        return hm_fail(error, EMSGSIZE, "scontrol does not show its features, or too many");
    if (found > 0)
        return 0;
    size_t length = strlen(features);
    snprintf(features + length, sizeof(features) - length, "%s%s", length > 0 ? "," : "", one->feature);
    return hm_scontrol_offer(one->node, features, error) == 0 ? 1 : -1;
}

/* Is what the mode was refused for over? No lock is taken: the helper looks again, under the lock, before
 * anything is changed. */
static bool is_free(struct withdrawal *one)
{
    struct hm_memmode_steps steps;
    return hm_memmode_look(&one->state, NULL) == 0 &&
           hm_memmode_decide(&one->state, one->mode, true, &steps, NULL) == 0;
}

static void fill(struct withdrawal *one, const char *node, enum hm_memmode mode, const struct hm_memmode_state *state)
{
    *one = (struct withdrawal){.mode = mode, .state = *state};
    snprintf(one->node, sizeof(one->node), "%s", node);
    snprintf(one->feature, sizeof(one->feature), HM_MEMMODE_FEATURE "%s", hm_memmode_word(mode));
}

static void pause_between(void)
{
    uint64_t since_ns = 0;
    while (hm_patience_pause(&since_ns, PAUSE_S))
        continue;
}

int hm_memmode_keep_withdrawn(const char *node, enum hm_memmode mode, const struct hm_memmode_state *state,
                              struct hm_error *error)
{
    struct withdrawal one;
    int quiet = 0, result = -1;
    uint64_t begun_ns = 0;
    fill(&one, node, mode, state);
    for (int i = 0; i < LOOKS + SECURE && quiet < SECURE && hm_patience_pause(&begun_ns, MOST_S); i++) {
        pause_between();
        bool ends = is_free(&one);
        int found = ends ? give_back(&one, error) : take_back(&one, i < LOOKS, error);
        if (ends && found == 0)
            return 1;
        quiet = found == 0 ? quiet + 1 : 0;
        result = found < 0 ? -1 : ends;
    }
    return result;
}

static int run(void *data)
{
    const struct withdrawal *one = data;
    struct hm_error why = {{0}};
    setsid(); /* slurmd ends the helper's process group with the helper */
    int result = hm_memmode_keep_withdrawn(one->node, one->mode, &one->state, &why);
    if (result < 0)
        syslog(LOG_DAEMON | LOG_ERR, "slurmctld may still offer %s of node %s, or not yet again: %s", one->feature,
               one->node, why.text);
    else
        syslog(LOG_DAEMON | LOG_NOTICE, "slurmctld offers %s of node %s %s", one->feature, one->node,
               result == 0 ? "to no job until slurmd reports again" : "as before: the node could take it now");
    return 0;
}

int hm_memmode_withdraw(const char *node, enum hm_memmode mode, const struct hm_memmode_state *state,
                        struct hm_error *error)
{
    struct withdrawal one;
    fill(&one, node, mode, state);
    const struct hm_spawn_call call = {.run = run, .data = &one, .kept = -1};
    pid_t pid = hm_spawn_call(&call, error);
    if (pid < 0)
        return -1;
    setpgid(pid, pid); /* the helper may end before the child comes to setsid(), which fails after this, or has run */
    return 0;
}

int hm_memmode_note_job(const char *node, enum hm_memmode mode, const char *reason, struct hm_error *error)
{
    uint32_t job_id;
    char comment[sizeof(OURS)], name[32], text[192];
    int found = hm_squeue_configuring(node, &job_id, comment, sizeof(comment), error);
    /* What somebody else has written there stays. */
    if (found <= 0 || (comment[0] && strcmp(comment, OURS) != 0))
        return found < 0 ? -1 : 0;
    if (hm_scontrol_name(job_id, NULL, name, sizeof(name), error) != 0)
        return -1;
    snprintf(text, sizeof(text), OURS "node %s cannot take memmode=%s for now: %s", node, hm_memmode_word(mode),
             reason);
    return hm_scontrol_comment(name, text, error);
}
