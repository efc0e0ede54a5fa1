/* SPDX-License-Identifier: Apache-2.0 */
/* `hybridmem profile mbi merge`: a profile of the results of a plan's runs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/newfile.h"
#include "base/plural.h"
#include "commands.h"
#include "sites/commands/commands.h"
#include "sum.h"

static void print_help(void)
{
    puts("Usage: hybridmem profile mbi merge -o PROFILE [--partial] FOLDER\n"
         "\n"
         "Puts the results of a plan's runs together into a profile, with the bytes that\n"
         "each site reads and writes.\n"
         "\n"
         "Options:\n"
         "  -o, --output PROFILE  the profile to write\n"
         "  --partial             also where runs are not done: what was not measured is\n"
         "                        null\n"
         "  -h, --help            this text\n"
         "  -V, --version         the version\n"
         "\n"
         "Exit status: 0; 1 runs are not done, or the profile cannot be written; 2 wrong\n"
         "usage, or no plan.");
}

/* Are all counted by one source, on one kind of node? Figures of different sources are not of the same traffic. */
static int check_sources(const struct hm_mbi_store *store, struct hm_error *error)
{
    const char *source = NULL;
    for (size_t i = 0; i < hm_mbi_plan_runs(&store->plan); i++) {
        if (!hm_mbi_store_is_done(store, i))
            continue;
        if (source && strcmp(source, store->result[i].source) != 0)
            return hm_fail(error, EINVAL, "run %zu was counted by %s, and others by %s: run it again on another node",
                           i, store->result[i].source, source);
        source = store->result[i].source;
    }
    return 0;
}

static int check_done(const struct hm_mbi_store *store, struct hm_error *error)
{
    size_t n = hm_mbi_plan_runs(&store->plan), missing = 0;
    for (size_t i = 0; i < n; i++)
        missing += !hm_mbi_store_is_done(store, i);
    return missing == 0 ? 0
                        : hm_fail(error, ENODATA,
                                  "%zu of %zu %s not done: hybridmem profile mbi status says which, and "
                                  "--partial leaves them out",
                                  missing, n, hm_plural(missing, "runs is", "runs are"));
}

static int sum(const struct hm_mbi_store *store, bool is_partial, struct hm_profile *profile, struct hm_error *error)
{
    size_t n = hm_mbi_plan_runs(&store->plan);
    const struct hm_mbi_result **result = calloc(n, sizeof(*result));
    if (!result)
        return hm_fail(error, ENOMEM, "out of memory");
    for (size_t i = 0; i < n; i++)
        result[i] = hm_mbi_store_is_done(store, i) ? &store->result[i] : NULL;
    int status = hm_mbi_sum(&store->plan, result, is_partial, profile, error);
    free(result);
    return status;
}

static int merge(const struct hm_mbi_store *store, const char *output, bool is_partial, struct hm_error *error)
{
    char path[PATH_MAX];
    struct hm_newfile file = {.fd = -1};
    if (check_sources(store, error) < 0 || (!is_partial && check_done(store, error) < 0) ||
        hm_mbi_store_path(store, HM_MBI_PROFILE, path, error) < 0)
        return -1;
    struct hm_profile *profile = hm_profile_read(path, error);
    int status = profile ? sum(store, is_partial, profile, error) : -1;
    if (status == 0)
        status = hm_newfile_open(&file, output, "app.json", error) == 0 ? hm_sites_write(profile, &file, error) : -1;
    hm_newfile_close(&file);
    hm_profile_free(profile);
    return status;
}

int hm_mbi_merge(int argc, char **argv)
{
    const char *output = NULL;
    bool is_partial = false;
    const struct hm_word table[] = {{"output", .path = &output, .letter = 'o'}, {"partial", .flag = &is_partial}};
    const struct hm_words words = {"profile mbi merge", print_help, table, 2, NULL};
    struct hm_mbi_store store = {.path = ""};
    struct hm_error error = {""};
    int status = hm_words_parse(argc, argv, &words);
    if (status >= 0)
        return status;
    if (!output)
        return hm_mbi_fail("merge", HM_MBI_BAD,
                           "-o is missing: as in: hybridmem profile mbi merge -o app.json app.mbi");
    status = hm_mbi_open(argc, argv, &words, &store);
    if (status == 0 && merge(&store, output, is_partial, &error) < 0)
        status = hm_mbi_fail("merge", HM_MBI_FAILED, error.text);
    hm_mbi_store_close(&store);
    return status;
}
