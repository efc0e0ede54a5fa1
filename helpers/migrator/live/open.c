/* SPDX-License-Identifier: Apache-2.0 */
/* Sets the live migrator up, and takes it down again. */
#include "live.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/pagesize.h"
#include "core/apply/policy.h"
#include "core/request/request.h"
#include "core/share/shares.h"
#include "optiontiers.h"

#define OWN_SHARE 0.5 /* part of the overhead for the migrator itself; the source has the other half */
/* Part of the overhead for soft-dirty marks, out of the migrator's own half; and where only writes count. */
#define SOFTDIRTY_SHARE 0.1
#define SOFTDIRTY_MOST 0.25

/*
 * Sets the standard signals and the mask anew, as whoever started the migrator may have ignored or blocked some.
 * Returns a signalfd(2), or -1.
 */
static int take_signals(struct hm_error *error)
{
    sigset_t ending;
    for (int number = 1; number < SIGRTMIN; number++)
        signal(number, number == SIGPIPE ? SIG_IGN : SIG_DFL);
    sigemptyset(&ending);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGHUP);
    sigprocmask(SIG_SETMASK, &ending, NULL);
    int fd = signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK);
    return fd >= 0 ? fd : hm_fail_errno(error, "cannot take signals");
}

/* The number of CPUs that the step may use. */
static unsigned count_cpus(const struct hm_options *options)
{
    char path[512], text[8192];
    struct hm_set cpus;
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    snprintf(path, sizeof(path), "%s/cpuset.cpus.effective", options->cgroup);
    if (options->cgroup[0] && hm_file_read_start(path, text, sizeof(text)) == 0) {
        text[strcspn(text, "\n")] = '\0';
        if (hm_set_parse(&cpus, text, NULL) == 0 && hm_set_count(&cpus) > 0)
            return hm_set_count(&cpus);
    }
    return online > 0 ? (unsigned)online : 1;
}

static int open_progress(struct hm_live *live, struct hm_error *error)
{
    const struct hm_options *options = live->options;
    if (options->progress_fd >= 0) {
        live->shown.progress = hm_progress_map(options->progress_fd, error);
        if (live->shown.progress)
            close(options->progress_fd);
    } else {
        live->shown.progress = malloc(sizeof(*live->shown.progress));
        if (live->shown.progress)
            hm_progress_init(live->shown.progress, options->step_id);
        else
            hm_fail(error, ENOMEM, "no memory for the figures");
    }
    if (!live->shown.progress)
        return -1;
    snprintf(live->shown.progress->algorithm, sizeof(live->shown.progress->algorithm), "%s", options->algorithm);
    snprintf(live->shown.progress->hot_by, sizeof(live->shown.progress->hot_by), "%s",
             hm_hot_by_name(options->hot_by_writes ? HM_HOT_BY_WRITES : HM_HOT_BY_ACCESSES));
    live->shown.progress->interval_ms = options->interval_ms;
    return 0;
}

static void open_cap(struct hm_live *live)
{
    const struct hm_options *options = live->options;
    live->cap_pages = UINT64_MAX;
    if (options->cap_percent >= 0)
        live->cap_pages =
            (uint64_t)((double)hm_nodes_fast_total(&live->nodes) * options->cap_percent / 100 / (double)hm_page_size());
    else if (options->cap_bytes != UINT64_MAX)
        live->cap_pages = options->cap_bytes / hm_page_size();
    /* In the figures 0 means "no cap", so a cap of 0 is shown as one byte. */
    if (live->cap_pages != UINT64_MAX)
        live->shown.progress->capacity_bytes = live->cap_pages > 0 ? live->cap_pages * hm_page_size() : 1;
}

/* Warns if the kernel's own tiering is on: it moves the same pages by other rules. */
static void warn_of_kernel(struct hm_live *live)
{
    char text[64];
    if (hm_file_read_start("/proc/sys/kernel/numa_balancing", text, sizeof(text)) == 0 && (atoi(text) & 2))
        hm_progress_warn(live->shown.progress,
                         "the kernel moves pages between the tiers as well: kernel.numa_balancing is 2 or 3; "
                         "set it to 0 or 1");
    if (hm_file_read_start("/sys/kernel/mm/numa/demotion_enabled", text, sizeof(text)) == 0 &&
        (text[0] == 't' || text[0] == '1'))
        hm_progress_warn(live->shown.progress, "the kernel moves pages between the tiers as well: "
                                               "/sys/kernel/mm/numa/demotion_enabled is on; write 0 to it");
}

/* Asks for slow memory for this process itself, if the kernel can do that: it should take no room in the fast tier. */
static void keep_to_slow(const struct hm_options *options)
{
    const struct hm_plan plan = {.policy = HM_POLICY_PREFERRED_MANY, .nodes = options->slow};
    (void)hm_policy_apply(&plan, NULL);
}

/* Sets what does not depend on the options. Nothing is open yet. */
static void init(struct hm_live *live, const struct hm_options *options)
{
    *live = (struct hm_live){.options = options, .signals = -1};
    live->shown.viewserver.listener = -1;
    for (int i = 0; i < HM_VIEWSERVER_CLIENTS; i++)
        live->shown.viewserver.client[i] = -1;
    live->guard.fd = -1;
    live->account.cgroup.dir = -1;
    live->share = (struct hm_live_share){.fd = -1, .pages = UINT64_MAX};
    live->load.traffic = -1;
    live->intake.n_followed = 1;  /* mappings are read when their process is found */
    live->rest.is_resting = true; /* until hm_live_rest decides at the first look */
}

/*
 * Finds out whether soft-dirty marks work here. The test reads this process's own page map, which belongs to root while
 * the process is not dumpable. So root makes the test before it becomes the job's user. Later the process would have to
 * be dumpable for a moment, in which the job's user could take it over, and would have a process outside of the job. A
 * process that a user has started without --uid is theirs anyway, and does become dumpable for the test.
 */
static void open_window(struct hm_live *live)
{
    const struct hm_options *options = live->options;
    bool is_users = options->uid == HM_OPTIONS_NO_ID;
    if (is_users)
        prctl(PR_SET_DUMPABLE, 1);
    live->window.softdirty =
        hm_softdirty_new(options->overhead * (options->hot_by_writes ? SOFTDIRTY_MOST : SOFTDIRTY_SHARE),
                         count_cpus(options), options->hot_by_writes, NULL);
    if (is_users)
        prctl(PR_SET_DUMPABLE, 0);
}

/* Prepares the list of the step's processes, the tiers' nodes, and the memory for mappings. */
static int open_intake(struct hm_live *live, struct hm_error *error)
{
    const struct hm_options *options = live->options;
    struct hm_set tiers[HM_MAX_TIERS];
    unsigned n_tiers = hm_options_tiers(options, tiers);
    if ((options->cgroup[0]
             ? hm_ranks_init(&live->intake.ranks, options->cgroup, geteuid(), error)
             : hm_ranks_init_list(&live->intake.ranks, options->pid, options->n_pids, geteuid(), error)) != 0 ||
        hm_nodes_init(&live->nodes, tiers, n_tiers, options->reserve_bytes, error) != 0)
        return -1;
    live->intake.maps = calloc(HM_RANKS, sizeof(*live->intake.maps));
    live->window.begun = calloc(HM_RANKS, sizeof(*live->window.begun));
    hm_devices_init(&live->intake.devices);
    live->gaps = calloc(HM_LIVE_GAPS, sizeof(*live->gaps));
    if (!live->intake.maps || !live->window.begun || !live->gaps)
        return hm_fail(error, ENOMEM, "no memory for mappings");
    return 0;
}

static void open_account(struct hm_live *live)
{
    const struct hm_options *options = live->options;
    struct hm_set tiers[HM_MAX_TIERS];
    unsigned n_tiers = hm_options_tiers(options, tiers);
    live->account.n_cpus = count_cpus(options);
    live->account.pace = (struct hm_pace){.interval_ms = options->interval_ms,
                                          .phase_samples = options->phase_samples,
                                          .page_bytes = hm_page_size(),
                                          .rate = options->rate,
                                          .end_s = options->end_s};
    hm_tally_init(&live->account.tally, options->seed, options->hot_by_writes);
    hm_node_map_fill(&live->account.node_map, tiers, n_tiers);
    live->account.has_cgroup = options->cgroup[0] && hm_cgroup_open(&live->account.cgroup, options->cgroup) == 0;
    live->account.cgroup_s = hm_live_cgroup_s(live);
    live->account.begun_ns = hm_clock_ns(CLOCK_MONOTONIC);
    live->shown.progress->above_cap_s = live->shown.progress->gain_s = 0;
    hm_purse_init(&live->account.purse, options->overhead * OWN_SHARE, live->account.n_cpus, hm_live_job_s(live));
    hm_live_open_share(live);
}

/* Opens the view for `hybridmem top`. If that fails, the step's memory is migrated all the same. */
static void open_view(struct hm_live *live)
{
    const struct hm_options *options = live->options;
    struct hm_error why = {{0}};
    live->shown.view.job_id = options->job_id;
    if (options->has_job && hm_viewserver_open(&live->shown.viewserver, options->job_id, options->step_id, &why) != 0)
        hm_progress_warn(live->shown.progress, why.text);
}

static void open_guard(struct hm_live *live)
{
    static char path[512]; /* the guard keeps a pointer to it */
    const struct hm_options *options = live->options;
    snprintf(path, sizeof(path), "%s%s", options->guard[0] ? options->guard : options->cgroup,
             options->guard[0] ? "" : "/cgroup.events");
    hm_guard_init(&live->guard, path, hm_clock_ns(CLOCK_MONOTONIC));
}

/* Sources see more of a step if root opens them. A migrator that is not started by root has its user's rights alone. */
static void prepare_source(const struct hm_options *options)
{
    if (options->uid == HM_OPTIONS_NO_ID || !options->cgroup[0])
        return;
    struct hm_source_setup setup = hm_live_source_setup(options, count_cpus(options));
    hm_source_prepare(&setup, options->cgroup);
}

void hm_live_begin(struct hm_live *live, const struct hm_options *options)
{
    keep_to_slow(options);
    init(live, options);
    open_window(live);
    prepare_source(options);
    if (options->shares[0]) /* as root, as no user reaches its folder */
        live->share.fd = hm_shares_open(options->shares, NULL);
    hm_live_begin_load(live);
}

int hm_live_open(struct hm_live *live, struct hm_error *error)
{
    if (open_progress(live, error) != 0)
        return -1;
    live->signals = take_signals(error);
    if (live->signals < 0 || open_intake(live, error) != 0 ||
        hm_mover_init(&live->mover, &live->nodes, &live->intake.ranks, live->intake.maps, hm_live_is_told, live,
                      error) != 0)
        return -1;
    live->residence =
        (struct hm_residence){&live->intake.ranks, live->intake.maps, &live->nodes, live->mover.batch, NULL};
    open_cap(live);
    open_account(live);
    hm_live_open_load(live);
    warn_of_kernel(live);
    open_view(live);
    open_guard(live);
    return 0;
}

void hm_live_close(struct hm_live *live)
{
    hm_live_close_source(live);
    hm_source_forget();
    hm_softdirty_free(live->window.softdirty);
    hm_viewserver_close(&live->shown.viewserver);
    hm_mover_free(&live->mover);
    for (uint32_t i = 0; live->intake.maps && i < HM_RANKS; i++)
        hm_maps_free(&live->intake.maps[i]);
    for (uint32_t i = 0; live->window.begun && i < HM_RANKS; i++)
        hm_maps_free(&live->window.begun[i]);
    hm_maps_free(&live->intake.scratch);
    hm_claims_free(&live->intake.claims);
    free(live->window.begun);
    free(live->intake.maps);
    free(live->gaps);
    hm_ranks_free(&live->intake.ranks);
    if (live->account.has_cgroup)
        hm_cgroup_close(&live->account.cgroup);
    if (live->guard.fd >= 0)
        close(live->guard.fd);
    if (live->share.has_job)
        hm_cgroup_close(&live->share.job);
    if (live->share.fd >= 0)
        close(live->share.fd);
    hm_live_close_load(live);
    if (live->signals >= 0)
        close(live->signals);
    if (live->shown.progress && live->options->progress_fd >= 0)
        hm_progress_unmap(live->shown.progress);
    else
        free(live->shown.progress);
}
