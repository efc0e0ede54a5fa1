/* SPDX-License-Identifier: Apache-2.0 */
/* `hybridmem profile mbi plan`: the runs that measure each site of a program. */
#include <config.h>
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/output.h"
#include "base/plural.h"
#include "base/size.h"
#include "cli/trace/program.h"
#include "commands.h"
#include "sites/profile/buildid.h"

#define SITES HM_PKGLIBEXECDIR "/hybridmem-sites"
#define ALONE 0.01
#define REPETITIONS 3

struct options {
    const char *output, *profile;
    double alone;
    uint64_t repetitions;
};

static void print_help(void)
{
    printf("Usage: hybridmem profile mbi plan -o FOLDER [OPTION]... -- PROGRAM [ARGUMENT]...\n"
           "\n"
           "Plans the runs that measure the memory traffic of each allocation site of a\n"
           "program: in each, one site alone has its memory in the slow tier. Without\n"
           "--profile, a first run, now, finds the sites.\n"
           "\n"
           "Options:\n"
           "  -o, --output FOLDER  a new folder for the plan, its job array and the results\n"
           "  --profile PROFILE    the sites, as hybridmem sites run has found them\n"
           "  --alone PERCENT      sites with a smaller share of the peak are measured\n"
           "                       together, up to this share (default: %.0f%%)\n"
           "  --repeat N           how often each is measured, 1 to %d (default: %d)\n"
           "  -h, --help           this text\n"
           "  -V, --version        the version\n"
           "\n"
           "Exit status: 0; 1 there is no plan; 2 wrong usage, or no profile.\n",
           100 * ALONE, HM_MBI_REPETITIONS, REPETITIONS);
}

static int take_alone(void *data, const char *text, struct hm_error *error)
{
    struct options *options = data;
    double percent;
    if (hm_size_parse_percent(text, &percent, error) < 0)
        return -1;
    options->alone = percent / 100;
    return 0;
}

static int take_repetitions(void *data, const char *text, struct hm_error *error)
{
    struct options *options = data;
    return hm_size_parse_number(text, 1, HM_MBI_REPETITIONS, &options->repetitions, error);
}

int hm_mbi_find_program(const char *name, char path[PATH_MAX], char **build_id, struct hm_error *error)
{
    char text[HM_BUILDID_TEXT];
    if (hm_program_find(name, path, error) != 0)
        return -1;
    bool is_elf = hm_buildid_look(path, text, NULL) == 0;
    *build_id = is_elf && text[0] ? strdup(text) : NULL;
    if (!is_elf || *build_id)
        return 0;
    return hm_fail(error, ENODATA,
                   "%s has no build-id, so nobody could tell if it is the same program in each run: link it with "
                   "-Wl,--build-id",
                   path);
}

/* JSON has UTF-8 only. */
static bool is_utf8(const char *text)
{
    json_t *value = json_string(text);
    json_decref(value);
    return value != NULL;
}

/* Can a plan have the program's words, and the folder that it is started in? Returns 0, or -1 with a text. */
static int check_words(char **program, int n, struct hm_error *error)
{
    char folder[PATH_MAX];
    for (int i = 0; i < n; i++)
        if (!is_utf8(program[i]))
            return hm_fail(error, EILSEQ, "argument %d of the program is not UTF-8: a plan cannot have it", i);
    if (!getcwd(folder, sizeof(folder)))
        return hm_fail_errno(error, "the current folder is not known");
    return is_utf8(folder) ? 0 : hm_fail(error, EILSEQ, "the folder %s is not UTF-8: a plan cannot have it", folder);
}

/* Has the first run make the profile. Returns 0, or -1 with a text. */
static int find_sites(const struct hm_mbi_store *store, char **program, int n, struct hm_error *error)
{
    char path[PATH_MAX];
    struct hm_program started;
    char **words = calloc((size_t)n + 6, sizeof(*words));
    int at = 0;
    if (!words || hm_mbi_store_path(store, HM_MBI_PROFILE, path, error) < 0) {
        free(words);
        return words ? -1 : hm_fail(error, ENOMEM, "out of memory");
    }
    words[at++] = (char[]){SITES};
    words[at++] = (char[]){"run"};
    words[at++] = (char[]){"-o"};
    words[at++] = path;
    words[at++] = (char[]){"--"};
    memcpy(words + at, program, (size_t)n * sizeof(*words));
    int status = hm_program_start(&started, SITES, words, -1, -1, error);
    free(words);
    if (status < 0)
        return -1;
    while (!started.has_ended) {
        struct pollfd events = {.fd = started.signals, .events = POLLIN};
        if (poll(&events, 1, -1) >= 0)
            hm_program_attend(&started);
    }
    if (started.status != 0)
        return hm_fail(error, ECANCELED, "the first run of %s ended with exit status %d", program[0],
                       WIFSIGNALED(started.status) ? 128 + WTERMSIG(started.status) : WEXITSTATUS(started.status));
    return 0;
}

/* Is there nothing in the folder? Returns 0, or -1 with a text. */
static int check_empty(const char *path, struct hm_error *error)
{
    const struct dirent *entry = NULL;
    DIR *folder = opendir(path);
    if (!folder)
        return hm_fail_errno(error, "%s", path);
    do
        entry = readdir(folder);
    while (entry && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
    closedir(folder);
    return entry ? hm_fail(error, ENOTEMPTY, "%s is not empty: name a new folder", path) : 0;
}

/* Makes the folder, or takes one that is empty. *is_new: it was made. Returns 0, or -1 with a text. */
static int make_folder(struct hm_mbi_store *store, const char *path, bool *is_new, struct hm_error *error)
{
    *is_new = mkdir(path, 0777) == 0;
    if ((!*is_new && errno != EEXIST) || !realpath(path, store->path))
        return hm_fail_errno(error, "%s", path);
    return check_empty(path, error);
}

/* Removes what a plan that failed has made of the folder, which was empty. */
static void remove_all(const struct hm_mbi_store *store, bool is_new)
{
    static const char *const names[] = {HM_MBI_PROFILE, "job.sh", "plan.json"};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (hm_mbi_store_path(store, names[i], path, NULL) == 0)
            unlink(path);
    if (is_new)
        rmdir(store->path);
}

static int describe(struct hm_mbi_plan *plan, char **program, int n, const struct hm_profile *profile, const char *path,
                    struct hm_error *error)
{
    char found[PATH_MAX];
    if (n > HM_MBI_WORDS)
        return hm_fail(error, E2BIG, "the program has more than %d arguments", HM_MBI_WORDS);
    if (hm_mbi_find_program(program[0], found, &plan->build_id, error) < 0)
        return -1;
    if (plan->build_id && (!profile->build_id || strcmp(profile->build_id, plan->build_id) != 0))
        return hm_fail(error, ESTALE, "%s is not of the build of %s: make a new profile", path, found);
    plan->folder = getcwd(NULL, 0);
    plan->word = calloc((size_t)n + 1, sizeof(*plan->word));
    for (int i = 0; plan->word && i < n; i++) {
        plan->word[i] = strdup(program[i]);
        plan->n_words += plan->word[i] != NULL;
    }
    return plan->folder && plan->n_words == (size_t)n ? 0 : hm_fail(error, ENOMEM, "out of memory");
}

/* Returns 0, or the exit status with a text. */
static int make(const struct options *options, char **program, int n, struct hm_mbi_store *store,
                struct hm_error *error)
{
    struct hm_profile *profile = options->profile ? hm_profile_read(options->profile, error) : NULL;
    char path[PATH_MAX];
    int status = options->profile && !profile ? HM_MBI_BAD : HM_MBI_FAILED;
    bool is_new = false, is_ours = false;
    if (status == HM_MBI_BAD || check_words(program, n, error) < 0)
        goto done;
    is_ours = make_folder(store, options->output, &is_new, error) == 0;
    if (!is_ours)
        goto done;
    if (!profile &&
        (find_sites(store, program, n, error) < 0 || hm_mbi_store_path(store, HM_MBI_PROFILE, path, error) < 0 ||
         !(profile = hm_profile_read(path, error))))
        goto done;
    const char *name = options->profile ? options->profile : HM_MBI_PROFILE;
    if (describe(&store->plan, program, n, profile, name, error) == 0 &&
        hm_mbi_plan_make(profile, name, options->alone, (unsigned)options->repetitions, HM_ARENAS, &store->plan,
                         error) == 0 &&
        (!options->profile || hm_mbi_store_write(store, HM_MBI_PROFILE, hm_profile_json(profile), error) == 0) &&
        hm_mbi_store_script(store, error) == 0 &&
        hm_mbi_store_write(store, "plan.json", hm_mbi_plan_json(&store->plan), error) == 0)
        status = 0;
done:
    if (is_ours && status != 0)
        remove_all(store, is_new);
    hm_profile_free(profile);
    return status;
}

static int print(const struct options *options, const struct hm_mbi_plan *plan)
{
    size_t n_sites = 0, n_runs = hm_mbi_plan_runs(plan);
    for (size_t i = 0; i < plan->n_groups; i++)
        n_sites += plan->group[i].n;
    int result = printf("%zu %s: %zu %s in %zu %s, all else, and nothing, %u %s\n"
                        "Run them with: sbatch %s/job.sh\n"
                        "or on this node: hybridmem profile mbi run %s\n",
                        n_runs, hm_plural(n_runs, "run", "runs"), n_sites, hm_plural(n_sites, "site", "sites"),
                        plan->n_groups, hm_plural(plan->n_groups, "group", "groups"), plan->repetitions,
                        hm_plural(plan->repetitions, "time", "times"), options->output, options->output);
    return hm_output_end("hybridmem profile mbi plan", result, EXIT_SUCCESS);
}

int hm_mbi_plan(int argc, char **argv)
{
    struct options options = {.alone = ALONE, .repetitions = REPETITIONS};
    const struct hm_word table[] = {
        {"output", .path = &options.output, .letter = 'o'},
        {"profile", .path = &options.profile},
        {"alone", .take = take_alone},
        {"repeat", .take = take_repetitions},
    };
    const struct hm_words words = {"profile mbi plan", print_help, table, sizeof(table) / sizeof(table[0]), &options};
    struct hm_mbi_store store = {.path = ""};
    struct hm_error error = {""};
    int status = hm_words_parse_before(argc, argv, &words);
    if (status >= 0)
        return status;
    if (!options.output)
        return hm_mbi_fail("plan", HM_MBI_BAD, "-o is missing: as in: hybridmem profile mbi plan -o app.mbi -- ./app");
    if (optind == argc || !*argv[optind])
        return hm_mbi_fail("plan", HM_MBI_BAD,
                           "the program is missing: as in: hybridmem profile mbi plan -o app.mbi -- ./app");
    status = make(&options, argv + optind, argc - optind, &store, &error);
    status = status == 0 ? print(&options, &store.plan) : hm_mbi_fail("plan", status, error.text);
    hm_mbi_store_close(&store);
    return status;
}
