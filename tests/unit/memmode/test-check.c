/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what the check after a boot does with the node: the modules and scontrol are simulated, the note is real. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bootid.h"
#include "base/flock.h"
#include "base/patience.h"
#include "memmode/commands/parts.h"
#include "namespace/pmem/asked.h"
#include "namespace/pmem/lock.h"
#include "slurm/nodename.h"
#include "slurm/scontrol.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define ALL (UINT64_C(252) << 30)
#define FLAT .app_direct = ALL, .physical = ALL
#define CACHE .memory = ALL, .physical = ALL
#define CAME_FLAT "memmode=cache was asked for before the boot, and the node came back memmode=flat"

static struct hm_config config;
static const struct hm_hardware hardware;
static struct {
    const struct hm_memmode_resources *resources;
    int unread;       /* errno of ipmctl; 0: it answers */
    unsigned pending; /* modules with a goal */
    int reads, asks, drains, tells, pauses;
    int fails; /* how often scontrol fails before it succeeds */
    bool is_locked;
    int lock_number; /* errno with which the lock is not given; 0: it is */
    char reason[HM_ERROR_TEXT], told[32];
} node;

int hm_memmode_read_now(const struct hm_hardware *asked, struct hm_memmode_state *state, struct hm_error *error)
{
    assert_ptr_equal(asked, &hardware);
    assert_true(node.is_locked);
    node.reads++;
    if (node.unread)
        return hm_fail(error, node.unread, "ipmctl is silent");
    *state = (struct hm_memmode_state){.resources = *node.resources, .modules.n = 2};
    return 0;
}

int hm_memmode_read_pending(const struct hm_hardware *asked, struct hm_memmode_state *state, struct hm_error *error)
{
    assert_ptr_equal(asked, &hardware);
    state->goal = (struct hm_memmode_goal){.n_cache = node.pending};
    return node.pending ? 0 : hm_fail(error, EIO, "ipmctl is silent");
}

int hm_memmode_read(const struct hm_hardware *asked, struct hm_memmode_state *state, struct hm_error *error)
{
    if (hm_memmode_read_now(asked, state, error) != 0)
        return -1;
    state->goal.n_cache = node.pending;
    return 0;
}

int hm_lock_take(const struct hm_config *settings, uint64_t *since_ns, unsigned patience_s, struct hm_error *error)
{
    (void)settings, (void)since_ns, (void)patience_s;
    if (node.lock_number)
        return hm_fail(error, node.lock_number, "the lock is held");
    node.is_locked = true;
    return 7;
}

void hm_flock_close(int fd)
{
    assert_int_equal(fd, 7);
    node.is_locked = false;
}

/* The first time nobody answers. */
int hm_nodename_find(char *name, size_t size, struct hm_error *error)
{
    if (node.asks++ == 0)
        return hm_fail(error, EIO, "slurmctld is silent");
    snprintf(name, size, "n1");
    return 0;
}

int hm_scontrol_drain(const char *name, const char *reason, struct hm_error *error)
{
    assert_string_equal(name, "n1");
    snprintf(node.reason, sizeof(node.reason), "%s", reason);
    return node.drains++ < node.fails ? hm_fail(error, EIO, "slurmctld is silent") : 0;
}

#define UNKNOWN "slurmctld knows of no such feature"

/* It fails, as on a node that has no features in Slurm. */
int hm_scontrol_activate(const char *name, const char *features, struct hm_error *error)
{
    assert_string_equal(name, "n1");
    assert_true(node.drains == 0 || node.drains > node.fails);
    node.tells++;
    snprintf(node.told, sizeof(node.told), "%s", features);
    return hm_fail(error, EIO, UNKNOWN);
}

bool hm_patience_pause(uint64_t *since_ns, unsigned patience_s)
{
    (void)since_ns, (void)patience_s;
    node.pauses++;
    return false;
}

enum note { NO_NOTE, ASKED_CACHE, ASKED_FLAT, UNSURE, NOT_BOOTED, NOT_BOOTED_FLAT, TORN };

static const struct row {
    const char *name;
    enum note note;
    struct hm_memmode_resources resources;
    int unread, fails, lock_number;
    unsigned pending;
    int status;
    const char *reason; /* a part of the drain's; NULL: it is not tried */
    const char *said;   /* a part of the text; NULL: there is none */
    bool stays;         /* the note */
    bool is_unsure;     /* it is not sure any more */
    int reads;
    const char *given; /* the node's name */
    const char *come;  /* what slurmctld hears, though the node is not drained; NULL: nothing */
} rows[] = {
    {"nothing was asked", NO_NOTE, {FLAT}, .reads = 0},
    {"it has come",
     ASKED_CACHE,
     {CACHE},
     .said = "memmode=cache has come; slurmctld is not told: " UNKNOWN,
     .reads = 1,
     .given = "n1",
     .come = "memmode=cache"},
    {"it has come back",
     ASKED_FLAT,
     {FLAT},
     .said = "memmode=flat has come; slurmctld is not told: " UNKNOWN,
     .reads = 1,
     .given = "n1",
     .come = "memmode=flat"},
    {"it has come, and slurmctld is away",
     ASKED_CACHE,
     {CACHE},
     .said = "slurmctld is not told: slurmctld is silent",
     .reads = 1},
    {"nobody knows whether it was pending", UNSURE, {FLAT}, .reads = 0},
    {"there was no boot", NOT_BOOTED, {FLAT}, .pending = 2, .stays = true, .reads = 1},
    {"taken back by hand", NOT_BOOTED, {FLAT}, .reads = 1},
    {"changed by hand", NOT_BOOTED_FLAT, {FLAT}, .pending = 2, .stays = true, .is_unsure = true, .reads = 1},
    {"namespaces are removed",
     ASKED_CACHE,
     {FLAT},
     .lock_number = EBUSY,
     .status = 3,
     .said = "the lock is held",
     .stays = true},
    {"it has not come",
     ASKED_CACHE,
     {FLAT},
     .status = 4,
     .reason = "hybridmem: " CAME_FLAT,
     .said = "n1 is drained",
     .reads = 1},
    {"no module is in use",
     ASKED_CACHE,
     {.inaccessible = UINT64_C(252) << 30, .physical = UINT64_C(252) << 30},
     .status = 4,
     .reason = "the node came back with no module in use",
     .said = "n1 is drained",
     .reads = 1},
    {"it is still to come",
     ASKED_CACHE,
     {FLAT},
     .pending = 2,
     .status = 4,
     .reason = "252.0 GiB App Direct); a goal is still pending",
     .said = "a goal is still pending; node n1 is drained",
     .stays = true,
     .is_unsure = true,
     .reads = 1},
    {"slurmctld is late",
     ASKED_CACHE,
     {FLAT},
     .fails = 3,
     .status = 4,
     .reason = CAME_FLAT,
     .said = "n1 is drained",
     .reads = 1},
    {"slurmctld is away",
     ASKED_CACHE,
     {FLAT},
     .fails = 100,
     .status = 1,
     .reason = CAME_FLAT,
     .said = "the node is not drained: slurmctld is silent",
     .stays = true,
     .reads = 1},
    {"nobody knows",
     ASKED_CACHE,
     {FLAT},
     .unread = EIO,
     .status = 1,
     .said = "ipmctl is silent",
     .stays = true,
     .reads = 1},
    {"no module is seen",
     ASKED_CACHE,
     {0},
     .status = 1,
     .said = "ipmctl sees no persistent memory modules: whether memmode=cache has come",
     .stays = true,
     .reads = 1},
    {"a note that is torn", TORN, {FLAT}, .status = 1, .said = "state/memmode: ", .stays = true},
};

static void write_note(enum note which)
{
    char text[200], boot[40] = "an-earlier-one";
    assert_int_equal(hm_asked_remove(&config, NULL), 0);
    if (which == NO_NOTE)
        return;
    if (which == NOT_BOOTED || which == NOT_BOOTED_FLAT)
        hm_boot_id(boot, sizeof(boot));
    snprintf(text, sizeof(text), "hybridmem memmode 1\nmode %s\nis_unsure %s\nboot_id %s\nend\n",
             which == ASKED_FLAT || which == NOT_BOOTED_FLAT ? "flat" : "cache", which == UNSURE ? "yes" : "no", boot);
    scratch_write(scratch_path("state/memmode"), which == TORN ? "torn" : text);
}

static bool is_note_right(const struct row *row)
{
    struct hm_asked asked;
    if (!row->stays || row->note == TORN)
        return (access(scratch_path("state/memmode"), F_OK) == 0) == row->stays;
    return hm_asked_read(&config, &asked, NULL) == 1 && asked.is_unsure == row->is_unsure;
}

/* One for Slurm's name of the node, and one for each drain that fails; six tries in all. */
static int pauses_of(const struct row *row)
{
    return !row->reason ? 0 : row->fails < 5 ? row->fails + 1 : 5;
}

static void drains_only_for_a_cause(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct row *row = &rows[i];
        struct hm_error error = {{0}};
        memset(&node, 0, sizeof(node));
        node.resources = &row->resources;
        node.unread = row->unread;
        node.fails = row->fails;
        node.lock_number = row->lock_number;
        node.pending = row->pending;
        write_note(row->note);
        int status = hm_memmode_check(&hardware, &config, row->given, &error);
        bool is_noted_right = is_note_right(row);
        bool is_drained_right = row->reason ? strstr(node.reason, row->reason) != NULL : node.drains == 0;
        bool is_said_right = row->said ? strstr(error.text, row->said) != NULL : error.text[0] == '\0';
        /* Slurm gets the same from the helper, also where no module is in use. */
        const char *told = row->come ? row->come : status == 4 ? "memmode=flat" : "";
        bool is_told_right = node.tells == (told[0] != '\0') && strcmp(node.told, told) == 0 &&
                             !strstr(error.text, UNKNOWN) == (node.tells == 0);
        if (status != row->status || !is_noted_right || node.is_locked || node.reads != row->reads ||
            !is_drained_right || !is_said_right || !is_told_right || node.pauses != pauses_of(row))
            fail_msg("%s: status %d, note right %d, %d reads, %d drains for \"%s\", \"%s\"", row->name, status,
                     is_noted_right, node.reads, node.drains, node.reason, error.text);
    }
}

static int begin(void **state)
{
    int result = scratch_make(state);
    snprintf(config.state_dir, sizeof(config.state_dir), "%s/state", scratch);
    return result;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(drains_only_for_a_cause)};
    return cmocka_run_group_tests(tests, begin, scratch_drop);
}
