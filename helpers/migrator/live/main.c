/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hybridmem-migrator: samples the memory accesses of a step's processes and keeps hot memory in the fast tier, until
 * the step has ended or SIGTERM comes. It runs as the job's user, beside the job. slurmstepd starts it as root, and it
 * becomes that user itself: so the user can stop or kill it only once slurmstepd knows that it runs. If it fails, the
 * job goes on without it.
 */
#include <stdio.h>
#include <sys/prctl.h>

#include "base/output.h"
#include "live.h"
#include "migrator/figures/figures.h"
#include "migrator/watch/descriptors.h"
#include "migrator/watch/powers.h"

#define NAME "hybridmem-migrator"

/* Puts the error into the figures, too, from which the record takes it: in a step, nobody reads our standard error. */
static int fail(const struct hm_options *options, struct hm_progress *progress, const struct hm_error *error,
                int status)
{
    struct hm_progress *own = NULL;
    if (!progress && options->progress_fd >= 0)
        progress = own = hm_progress_map(options->progress_fd, NULL);
    if (progress)
        hm_progress_warn(progress, error->text);
    hm_progress_unmap(own);
    fprintf(stderr, NAME ": %s\n", error->text);
    return status;
}

/* Becomes the job's user, with --uid. Before this call, nothing of the user's is looked at. */
static int become_user(const struct hm_options *options, struct hm_error *error)
{
    if (options->uid == HM_OPTIONS_NO_ID)
        return 0;
    if (hm_powers_keep(options->uid, options->gid) != 0)
        return hm_fail_errno(error, "cannot become user %u", options->uid);
    prctl(PR_SET_DUMPABLE, 0); /* a change of the user may make a process dumpable again */
    return 0;
}

int main(int argc, char **argv)
{
    static struct hm_options options;
    static struct hm_live live;
    struct hm_error error = {{0}};
    int status = 0;
    prctl(PR_SET_DUMPABLE, 0); /* one of the descriptors is root's */
    if (hm_options_parse(&options, argc, argv, &error) != 0)
        return fail(&options, NULL, &error, 2);
    if (options.help) {
        hm_options_help();
        return hm_output_end(NAME, 0, 0);
    }
    hm_live_begin(&live, &options);
    if (become_user(&options, &error) != 0)
        return fail(&options, NULL, &error, 1);
    hm_descriptors_raise_limit();
    if (hm_live_open(&live, &error) != 0) {
        status = fail(&options, live.shown.progress, &error, 1);
        goto done;
    }
    hm_live_run(&live);
    if (options.json)
        hm_figures_print(live.shown.progress, stdout);
    status = hm_output_end(NAME, 0, 0);
done:
    hm_live_close(&live);
    return status;
}
