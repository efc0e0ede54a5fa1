/* SPDX-License-Identifier: Apache-2.0 */
/* `hybridmem sites guide`: runs a program, with the memory of its most used sites in the fast tier. */
#include <config.h>

#include "guide.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/plural.h"
#include "cli/trace/program.h"
#include "commands.h"
#include "fit.h"
#include "online.h"
#include "run.h"
#include "sites/guide/choose.h"
#include "sites/guide/enter.h"
#include "sites/store/store.h"
#include "stale.h"

#define HINTS 32 /* profiles that are read to tell that one of another build is there */

struct work {
    struct hm_sites_guide options;
    struct hm_guide_choice choice;
    struct hm_sites_fit fit;
    struct hm_stale stale; /* no site: the profile is of this build, and of these libraries */
    char path[PATH_MAX];
};

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int hm_sites_guide_nodes(struct hm_sites_guide *options, struct hm_error *error)
{
    struct hm_layout *layout = &options->layout;
    int n[2] = {0, 0};
    if (!options->has_nodes)
        hm_layout_read(layout);
    for (int i = 0; i < layout->n_nodes; i++)
        n[layout->node[i].is_fast]++;
    if (n[0] > 0 && n[1] > 0)
        return 0;
    return hm_fail(error, ENODEV, "memory cannot be guided here: %s",
                   layout->note[0] ? layout->note : "a tier has no node");
}

/* Is the profile one of this program? A script has no build-id, and may start the program. */
static int check_build(const struct work *work, const struct hm_profile *profile, struct hm_error *error)
{
    const char *build_id = work->fit.build_id, *way = work->options.prints ? "" : ", or use --any-build";
    if (work->options.any_build || !work->fit.is_elf)
        return 0;
    if (!build_id[0])
        return hm_fail(error, ENODATA,
                       "%s has no build-id, so nobody can tell if %s is one of it: link it with "
                       "-Wl,--build-id%s",
                       work->path, work->options.profile, way);
    if (profile->build_id && strcmp(profile->build_id, build_id) == 0)
        return 0;
    return hm_fail(error, ESTALE, "%s is of the build %s, and %s is %s: make a new profile%s", work->options.profile,
                   profile->build_id ? profile->build_id : "of a program that it does not name", work->path, build_id,
                   way);
}

static int print(const struct work *work, const struct hm_profile *profile, struct hm_error *error)
{
    const struct hm_guide_choice *choice = &work->choice;
    static char text[HM_GUIDE_TEXT];
    char input[HM_SITES_INPUT];
    hm_guide_format(&choice->table, text);
    if (work->stale.n_sites > 0)
        printf("stale_sites %zu\nstale_found %zu\n", work->stale.n_sites, work->stale.n_found);
    if (hm_sites_input(profile, input)[0])
        printf("input %s\n", input);
    printf("profile %s\npacker %s\nfast_bytes %" PRIu64 "\nexpected_share %.6f\n" HM_GUIDE_TABLE " %s\n",
           work->options.profile, choice->packer->name, choice->fast_bytes, choice->expected_share, text);
    return fflush(stdout) == 0 ? 0 : hm_fail_errno(error, "the output cannot be written");
}

static bool is_of_name(const char *path, const char *name, const char *input)
{
    struct hm_profile *profile = hm_profile_read(path, NULL);
    bool is_right =
        profile && strcmp(name_of(profile->program), name) == 0 && (!input || hm_profile_has_input(profile, input));
    hm_profile_free(profile);
    return is_right;
}

/*
 * Finds the newest profile in a store that is of a program with this program's name, of whatever build, and of this
 * kind of input (NULL: of any). For a hint alone it looks at few, as each task of a job reads them. What cannot be read
 * is left out. Returns 0, or -1: there is none.
 */
static int find_by_name(struct work *work, const char *store, const char *input)
{
    struct hm_store_entry *entries = NULL;
    int n = hm_store_list(store, &entries, NULL), most = work->options.takes_stale ? INT_MAX : HINTS, at = 0;
    if (n > 1)
        qsort(entries, (size_t)n, sizeof(*entries), hm_store_newest_first);
    while (at < n && at < most && !is_of_name(entries[at].path, name_of(work->path), input))
        at++;
    bool is_found = at < n && at < most;
    if (is_found)
        memcpy(work->options.found, entries[at].path, PATH_MAX);
    free(entries);
    return is_found ? 0 : -1;
}

/* The same in the user's store, else in the shared one; the latter serves only with --stale. */
static bool find_in_stores(struct work *work, const char *shared, const char *input)
{
    char own[PATH_MAX];
    if (hm_store_own(own, NULL) == 0 && find_by_name(work, own, input) == 0)
        return true;
    return work->options.takes_stale && shared[0] && find_by_name(work, shared, input) == 0;
}

/* Looks for a profile of another build of the program, told by its name. Without --stale, the text then names it; where
 * there is none, it says what makes one. */
static int find_other_build(struct work *work, const char *shared, struct hm_error *error)
{
    const struct hm_error before = *error;
    const char *input = work->options.input;
    bool is_found = (input && work->options.takes_stale && find_in_stores(work, shared, input)) ||
                    find_in_stores(work, shared, NULL);
    if (is_found && work->options.takes_stale) {
        *error = (struct hm_error){""};
        return 0;
    }
    if (is_found)
        hm_fail(error, ENOENT, "%s; %.300s is of another build of it: make a new profile", before.text,
                work->options.found);
    else
        hm_fail(error, ENOENT, "%s; a job of --hybrid-mem=profile makes one", before.text);
    return -1;
}

/* Finds the program's profile in the stores, where none was named. Returns 0, or -1 with a text. */
static int find_profile(struct work *work, struct hm_error *error)
{
    struct hm_sites_guide *options = &work->options;
    char shared[HM_CONFIG_PATH_MAX] = "";
    if (options->profile)
        return 0;
    if (!work->fit.build_id[0])
        return hm_fail(error, ENODATA, "%s has no build-id, by which its profile could be found: name one", work->path);
    if (options->shared)
        snprintf(shared, sizeof(shared), "%s", options->shared);
    else if (hm_sites_shared(shared, error) < 0)
        return -1;
    options->profile = options->found;
    if (hm_store_find(shared, work->fit.build_id, options->input, options->found, error) == 0)
        return 0;
    return find_other_build(work, shared, error);
}

/* Finds the sites of another build's profile in this one: of the program, or of its libraries, as an update replaces
 * them. Returns 0, or -1 with a text. */
static int translate(struct work *work, struct hm_profile *profile, bool is_stale, struct hm_error *error)
{
    char *build_id = strdup(work->fit.build_id);
    if (!build_id || hm_stale_translate(profile, work->path, &work->stale) < 0) {
        free(build_id);
        return hm_fail(error, ENOMEM, "out of memory");
    }
    free(profile->build_id); /* that of the program of size classes */
    profile->build_id = build_id;
    if (work->stale.n_found > 0 || work->stale.n_sites == 0)
        return 0;
    return hm_fail(error, ESTALE, "%s is of %s, and %s has none of its %zu %s: make a new profile",
                   work->options.profile, is_stale ? "another build" : "other builds of the libraries", work->path,
                   work->stale.n_sites, hm_plural(work->stale.n_sites, "site", "sites"));
}

/* A script has no build-id, and a program without one is refused. */
static bool is_stale(const struct work *work, const struct hm_profile *profile)
{
    const char *build_id = work->fit.build_id;
    return work->options.takes_stale && work->fit.is_elf && build_id[0] && profile->build_id &&
           strcmp(profile->build_id, build_id) != 0;
}

/* Chooses the sites, and makes all that the program needs to be guided. Returns 0, or -1 with a text. */
static int prepare(struct work *work, struct hm_error *error)
{
    const struct hm_sites_guide *options = &work->options;
    struct hm_profile *profile = find_profile(work, error) == 0 ? hm_profile_read(options->profile, error) : NULL;
    if (!profile)
        return -1;
    work->choice.has_arenas = HM_ARENAS;
    work->choice.packer = options->choice.packer;
    work->choice.capacity_bytes = hm_sites_capacity(&options->choice, profile);
    bool other = is_stale(work, profile);
    int status = other ? 0 : check_build(work, profile, error);
    if (status == 0 && work->fit.is_elf && !work->options.any_build)
        status = translate(work, profile, other, error);
    if (status == 0)
        status = hm_sites_guide_nodes(&work->options, error);
    if (status == 0)
        status = hm_guide_choose(profile, options->profile, &options->layout, &work->choice, error);
    if (status == 0 && options->prints)
        status = print(work, profile, error);
    else if (status == 0)
        status = hm_guide_enter(&work->choice.table, &options->layout, error);
    hm_profile_free(profile);
    return status;
}

/* Becomes the program, unless it is only printed what would be done: nothing of this process is left in the fast tier.
 * Returns 0, or the exit status with a text. */
static int run(struct work *work, struct hm_error *error)
{
    const struct hm_sites_guide *options = &work->options;
    if (hm_program_find(options->program[0], work->path, error) != 0)
        return errno == ENOENT ? HM_SITES_RUN_NOT_FOUND : HM_SITES_RUN_CANNOT_RUN;
    hm_sites_fit(work->path, false, &work->fit);
    if (work->fit.why[0])
        fprintf(stderr, HM_SITES_GUIDE ": %s %s: it runs, and its memory is not guided\n", options->program[0],
                work->fit.why);
    else if (!work->fit.is_elf && !options->profile &&
             options->prints) /* a job's script is one, and its steps are guided */
        fprintf(stderr, HM_SITES_GUIDE ": %s is a script, and has no profile of its own: its memory is not guided\n",
                options->program[0]);
    else if (prepare(work, error) != 0)
        return HM_SITES_RUN_FAILED;
    if (options->prints)
        return 0;
    execv(work->path, options->program);
    hm_fail_errno(error, "%s cannot be started", work->path);
    return HM_SITES_RUN_CANNOT_RUN;
}

int hm_sites_guide(int argc, char **argv)
{
    struct hm_error error = {""};
    struct work *work = calloc(1, sizeof(*work));
    if (!work) {
        fputs(HM_SITES_GUIDE ": out of memory\n", stderr);
        return HM_SITES_RUN_FAILED;
    }
    int status = hm_sites_guide_parse(argc, argv, &work->options);
    if (status < 0 && work->options.is_online) {
        status = hm_sites_online_run(&work->options);
        free(work);
        return status;
    }
    if (status < 0)
        status = run(work, &error);
    if (error.text[0])
        fprintf(stderr, HM_SITES_GUIDE ": %s\n", error.text);
    free(work);
    return status;
}
