/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how a change is carried out, noted and undone, on a simulated node: ipmctl's recorded answers follow its state.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/flock.h"
#include "base/process.h"
#include "base/spawn.h"
#include "ipmctlanswer.h"
#include "memmode/commands/parts.h"
#include "memmode/commands/spaces.h"
#include "memmode/ipmctl/ipmctl.h"
#include "namespace/pmem/asked.h"
#include "namespace/pmem/lock.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define ALL UINT64_C(270582939648)
#define CALLS 64

/* What the simulated ipmctl does wrong. */
enum fault { NO_FAULT, CREATE_SAYS_ERROR, CREATE_HALF, CREATE_NOTHING, DELETE_NOTHING, CREATE_HALF_STAYS, GOAL_UNREAD };

static struct hm_config settings;
static unsigned percent_wanted = 50;
static const struct hm_hardware hardware = {&hm_backend_ipmctl, "/ipmctl", &settings};
static struct {
    const char *mode, *pending; /* parts of the names of fixtures */
    enum fault fault;
    struct hm_memmode_spaces spaces;
    bool reap_helps;   /* a reap removes the namespaces of jobs */
    bool reap_lasts;   /* a reap goes on for longer than is waited for it */
    bool is_locked;    /* the lock is held */
    int lock_number;   /* errno with which the lock is not given; 0: it is */
    char calls[CALLS]; /* letters: C create, D delete, R reap */
} node;

static void note(char letter)
{
    size_t length = strlen(node.calls);
    assert_true(length < CALLS - 1);
    node.calls[length] = letter;
}

const char *hm_ipmctl_name(enum hm_ipmctl_command command)
{
    return command == HM_IPMCTL_DELETE ? "ipmctl delete" : "ipmctl create or show";
}

static const char *create(const char *goal)
{
    struct hm_asked asked;
    note('C');
    assert_int_equal(hm_asked_read(&settings, &asked, NULL), 1); /* nobody makes a namespace */
    assert_true(asked.is_unsure);
    if (node.fault != CREATE_NOTHING)
        node.pending = node.fault == CREATE_HALF || node.fault == CREATE_HALF_STAYS ? "goal-half" : goal;
    return node.fault == CREATE_SAYS_ERROR ? "create-half" : goal;
}

static const char *delete_goal(void)
{
    bool had_one = strcmp(node.pending, "goal-none") != 0;
    note('D');
    if (node.fault != DELETE_NOTHING && node.fault != CREATE_HALF_STAYS)
        node.pending = "goal-none";
    return had_one ? "delete" : "delete-none";
}

static const char *answer_to(enum hm_ipmctl_command command)
{
    switch (command) {
    case HM_IPMCTL_RESOURCES:
        return node.mode;
    case HM_IPMCTL_GOAL:
        return node.pending;
    case HM_IPMCTL_ABILITIES:
        return "abilities";
    case HM_IPMCTL_MODULES:
        return "modules";
    case HM_IPMCTL_CREATE_FLAT:
        return create("goal-flat");
    case HM_IPMCTL_CREATE_CACHE:
        return create("goal-cache");
    case HM_IPMCTL_CREATE_MIXED:
        return create("goal-mixed");
    default:
        return delete_goal();
    }
}

int hm_ipmctl_run(const char *path, enum hm_ipmctl_command command, unsigned percent, struct hm_nvmxml *answer,
                  struct hm_error *error)
{
    assert_int_equal(percent, percent_wanted);
    assert_string_equal(path, "/ipmctl");
    assert_true(node.is_locked || (node.lock_number == EBUSY && command < HM_IPMCTL_CREATE_FLAT));
    if (node.fault == GOAL_UNREAD && command == HM_IPMCTL_GOAL && node.calls[0])
        return hm_fail(error, EIO, "no answer");
    return answer_read(answer_to(command), answer, error);
}

int hm_spaces_read(struct hm_memmode_spaces *spaces, struct hm_error *error)
{
    (void)error;
    *spaces = node.spaces;
    return 0;
}

int hm_lock_take(const struct hm_config *config, uint64_t *since_ns, unsigned patience_s, struct hm_error *error)
{
    (void)config, (void)since_ns, (void)patience_s;
    assert_false(node.is_locked);
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

pid_t __wrap_hm_spawn_start(const struct hm_spawn *spawn, struct hm_error *error);
pid_t __wrap_hm_spawn_start(const struct hm_spawn *spawn, struct hm_error *error)
{
    (void)error;
    assert_false(node.is_locked); /* the reap takes the lock itself */
    assert_string_equal(spawn->arguments[1], "reap");
    note('R');
    if (node.reap_helps)
        node.spaces.n_jobs = 0;
    return 1234;
}

int __wrap_hm_process_identify(pid_t pid, struct hm_process *process);
int __wrap_hm_process_identify(pid_t pid, struct hm_process *process)
{
    *process = (struct hm_process){.pid = pid};
    return 0;
}

/* The reap is not ended, so that it goes on. The helper has to be done within Slurm's limit (ExecTime). */
bool __wrap_hm_process_wait(const struct hm_process *process, int patience_ms);
bool __wrap_hm_process_wait(const struct hm_process *process, int patience_ms)
{
    assert_int_equal(process->pid, 1234);
    assert_true(patience_ms <= 180000);
    return !node.reap_lasts;
}

static const struct row {
    const char *name, *mode, *pending;
    enum fault fault;
    unsigned n_jobs, n_kept;
    bool reap_helps, reap_lasts;
    int lock_number;
    enum hm_memmode wanted;
    int status;
    const char *calls, *left;            /* the calls that change something; what is pending afterwards */
    enum { NO_NOTE, SURE, UNSURE } note; /* afterwards; it is of the mode that was asked for */
    bool is_full;                        /* no note can be written */
    const char *said;                    /* a part of the text; NULL: there is none */
    bool is_excused;                     /* nothing but data is in the way */
} rows[] = {
    {"to the cache", "flat-resources", "goal-none", .wanted = HM_MEMMODE_CACHE, .calls = "C", .left = "goal-cache",
     .note = SURE},
    {"to flat", "cache-resources", "goal-none", .wanted = HM_MEMMODE_FLAT, .calls = "C", .left = "goal-flat",
     .note = SURE},
    {"to mixed", "flat-resources", "goal-none", .wanted = HM_MEMMODE_MIXED, .calls = "C", .left = "goal-mixed",
     .note = SURE},
    {"half of mixed, without a word", "cache-resources", "goal-none", CREATE_HALF, .wanted = HM_MEMMODE_MIXED,
     .status = 1, .calls = "CD", .left = "goal-none", .said = "read back, the pending goal is incomplete, not mixed"},
    {"mixed, and kept", "flat-resources", "goal-none", .n_kept = 1, .wanted = HM_MEMMODE_MIXED, .status = 1,
     .calls = "", .left = "goal-none", .said = "kept by users", .is_excused = true},
    {"nothing to do", "flat-resources", "goal-none", .wanted = HM_MEMMODE_FLAT, .calls = "", .left = "goal-none"},
    {"pending", "flat-resources", "goal-cache", .wanted = HM_MEMMODE_CACHE, .calls = "", .left = "goal-cache",
     .note = SURE},
    {"back", "flat-resources", "goal-cache", .wanted = HM_MEMMODE_FLAT, .calls = "D", .left = "goal-none"},
    {"a half-made goal", "flat-resources", "goal-half", .wanted = HM_MEMMODE_CACHE, .calls = "DC", .left = "goal-cache",
     .note = SURE},
    {"an error for a module", "flat-resources", "goal-none", CREATE_SAYS_ERROR, .wanted = HM_MEMMODE_CACHE, .status = 1,
     .calls = "CD", .left = "goal-none", .said = "Error 188 - Unable to initialize namespace labels.; no goal is left"},
    {"half of it, without a word", "flat-resources", "goal-none", CREATE_HALF, .wanted = HM_MEMMODE_CACHE, .status = 1,
     .calls = "CD", .left = "goal-none", .said = "read back, the pending goal is incomplete, not cache"},
    {"nothing, without a word", "flat-resources", "goal-none", CREATE_NOTHING, .wanted = HM_MEMMODE_CACHE, .status = 1,
     .calls = "CD", .left = "goal-none", .said = "read back, the pending goal is none, not cache"},
    {"half of it stays", "flat-resources", "goal-none", CREATE_HALF_STAYS, .wanted = HM_MEMMODE_CACHE, .status = 5,
     .calls = "CD", .left = "goal-half", .said = "delete the goal with 'ipmctl delete -goal', or the next boot",
     .note = UNSURE},
    {"a goal stays", "flat-resources", "goal-cache", DELETE_NOTHING, .wanted = HM_MEMMODE_FLAT, .status = 5,
     .calls = "D", .left = "goal-cache", .said = "read back, the pending goal is cache, not none", .note = UNSURE},
    {"not read back", "flat-resources", "goal-none", GOAL_UNREAD, .wanted = HM_MEMMODE_CACHE, .status = 5,
     .calls = "CD", .left = "goal-none", .said = "no answer", .note = UNSURE},
    {"kept", "flat-resources", "goal-none", .n_kept = 1, .wanted = HM_MEMMODE_CACHE, .status = 1, .calls = "",
     .left = "goal-none", .said = "kept by users", .is_excused = true},
    {"a dead job", "flat-resources", "goal-none", .n_jobs = 1, .reap_helps = true, .wanted = HM_MEMMODE_CACHE,
     .calls = "RC", .left = "goal-cache", .note = SURE},
    {"a living job", "flat-resources", "goal-none", .n_jobs = 1, .wanted = HM_MEMMODE_CACHE, .status = 1, .calls = "R",
     .left = "goal-none", .said = "1 of the namespaces is of jobs", .is_excused = true},
    {"a dead job, and a long wipe", "flat-resources", "goal-none", .n_jobs = 1, .reap_lasts = true,
     .wanted = HM_MEMMODE_CACHE, .status = 1, .calls = "R", .left = "goal-none", .said = "still wipes what dead jobs",
     .is_excused = true},
    {"at work", "flat-resources", "goal-none", .lock_number = EBUSY, .wanted = HM_MEMMODE_CACHE, .status = 3,
     .calls = "", .left = "goal-none", .said = "the lock is held", .is_excused = true},
    {"at work, and no modules", "no-modules", "goal-none", .lock_number = EBUSY, .wanted = HM_MEMMODE_CACHE,
     .status = 3, .calls = "", .left = "goal-none", .said = "the lock is held"},
    {"no lock", "flat-resources", "goal-none", .lock_number = EACCES, .wanted = HM_MEMMODE_CACHE, .status = 1,
     .calls = "", .left = "goal-none", .said = "the lock is held"},
    {"kept, and pending", "flat-resources", "goal-cache", .n_kept = 1, .wanted = HM_MEMMODE_CACHE, .status = 1,
     .calls = "", .left = "goal-cache", .said = "kept by users", .note = SURE, .is_excused = true},
    {"not noted", "flat-resources", "goal-none", .is_full = true, .wanted = HM_MEMMODE_CACHE, .status = 1, .calls = "",
     .left = "goal-none", .said = "/memmode: File exists"},
    {"pending, and not noted", "flat-resources", "goal-cache", .is_full = true, .wanted = HM_MEMMODE_CACHE, .status = 1,
     .calls = "D", .left = "goal-none", .said = "/memmode: File exists; no goal is left pending"},
    {"pending for the mode that is there", "cache-resources", "goal-cache", .wanted = HM_MEMMODE_CACHE, .calls = "",
     .left = "goal-cache", .note = SURE},
    {"no modules", "no-modules", "goal-none", .wanted = HM_MEMMODE_CACHE, .status = 1, .calls = "", .left = "goal-none",
     .said = "No PMem modules in the system"},
};

/* Before each row there is a note where a whole goal is pending, as there would be. */
static void begin_note(const struct row *row)
{
    char *draft = scratch_path("state/.memmode");
    assert_int_equal(hm_asked_remove(&settings, NULL), 0);
    assert_int_equal(scratch_remove(draft), 0);
    if (strcmp(row->pending, "goal-cache") == 0)
        assert_int_equal(hm_asked_write(&settings, "cache", false, NULL), 0);
    if (row->is_full)
        assert_int_equal(mkdir(draft, 0700), 0);
}

static bool is_noted_right(const struct row *row)
{
    struct hm_asked asked;
    int found = hm_asked_read(&settings, &asked, NULL);
    if (found != 1 || row->note == NO_NOTE)
        return found == 0 && row->note == NO_NOTE;
    return strcmp(asked.mode, hm_memmode_word(row->wanted)) == 0 && asked.is_unsure == (row->note == UNSURE);
}

static void changes(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct row *row = &rows[i];
        struct hm_error error = {{0}};
        memset(&node, 0, sizeof(node));
        node.mode = row->mode;
        node.pending = row->pending;
        node.fault = row->fault;
        node.spaces.region_bytes = ALL;
        node.spaces.n_jobs = row->n_jobs;
        node.spaces.n_kept = row->n_kept;
        node.reap_helps = row->reap_helps;
        node.reap_lasts = row->reap_lasts;
        node.lock_number = row->lock_number;
        begin_note(row);
        struct hm_memmode_state seen;
        int status = hm_memmode_change(&hardware, &settings, row->wanted, &seen, &error);
        /* What is seen is enough to excuse the node: nobody asks the hardware again. */
        bool is_excused = row->status != HM_MEMMODE_EXIT_DONE && row->status != HM_MEMMODE_EXIT_LEFT &&
                          hm_memmode_only_for_now(&seen, row->wanted);
        if (row->reap_lasts)
            assert_string_equal(hm_memmode_only_for_now(&seen, row->wanted), "namespaces there are made or wiped");
        if (status != row->status || is_excused != row->is_excused || strcmp(node.calls, row->calls) != 0 ||
            strcmp(node.pending, row->left) != 0 || node.is_locked || !is_noted_right(row) ||
            (row->said ? !strstr(error.text, row->said) : error.text[0] != '\0'))
            fail_msg("%s: status %d, calls \"%s\", %s, \"%s\"", row->name, status, node.calls, node.pending,
                     error.text);
    }
}

static void asks_for_whole_percents(void **state)
{
    static const struct {
        double set;
        unsigned asked;
    } shares[] = {{0, 0}, {0.4, 1}, {33.5, 34}, {99, 99}};
    (void)state;
    for (size_t i = 0; i < N_ROWS(shares); i++) {
        struct hm_memmode_state seen;
        memset(&node, 0, sizeof(node));
        node.mode = "cache-resources";
        node.pending = "goal-none";
        node.is_locked = true;
        settings.memmode_mixed_percent = shares[i].set;
        percent_wanted = shares[i].asked;
        assert_int_equal(hm_memmode_read(&hardware, &seen, NULL), 0);
        assert_int_equal(seen.abilities.mixed_percent, shares[i].asked);
    }
}

static int begin(void **state)
{
    int result = scratch_make(state);
    settings.memmode_mixed_percent = 50;
    snprintf(settings.state_dir, sizeof(settings.state_dir), "%s/state", scratch);
    return result;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(changes), cmocka_unit_test(asks_for_whole_percents)};
    return cmocka_run_group_tests(tests, begin, scratch_drop);
}
