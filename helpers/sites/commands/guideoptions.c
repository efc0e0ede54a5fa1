/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the command line of `hybridmem sites guide`. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "alloc/preload.h"
#include "commands.h"
#include "guide.h"
#include "watching.h"

static void print_help(void)
{
    printf("Usage: hybridmem sites guide --fast 25%%|SIZE [OPTION]... [PROFILE] -- PROGRAM\n"
           "       [ARGUMENT]...\n"
           "       hybridmem sites guide --online --fast SIZE [OPTION]... -- PROGRAM\n"
           "       [ARGUMENT]...\n"
           "\n"
           "Runs a program, and has the memory of its most used allocation sites in the fast\n"
           "tier, all other memory in the slow one. PROFILE, of the same build, says how\n"
           "much each site is used. Without it, the newest of the program's build is taken\n"
           "that hybridmem sites list shows. The program need not be compiled anew.\n"
           "With --online no profile is read: the sites are learned while the program runs,\n"
           "and their memory is moved as its use changes.\n"
           "\n"
           "Options:\n"
           "  --fast SIZE    bytes of the fast tier for these sites, as in 4G, or a share of\n"
           "                 the profile's peak, as in 25%%\n"
           "  --packer NAME  how sites are chosen, as for hybridmem sites plan (default:\n"
           "                 %s)\n"
           "  --nodes LIST   the tiers' NUMA nodes, as in \"fast=0,1 slow=2,3\" (default:\n"
           "                 those that hybridmem tiers shows)\n"
           "  --any-build    run the program also where it is of another build than the\n"
           "                 profile, or starts the program that the profile is of\n"
           "  --stale        take a profile of an older build of the program where there is\n"
           "                 none of this one: the newest of a program of its name. Sites\n"
           "                 are found by the names of their functions, if these have not\n"
           "                 changed\n"
           "  --input-class TEXT\n"
           "                 without PROFILE: take the newest of this kind of input, and of\n"
           "                 another where there is none; with --online, that of the profile\n"
           "  --shared FOLDER\n"
           "                 profiles that are taken where you have none (default:\n"
           "                 profile_dir of the configuration)\n"
           "  --print        do not run the program: print what was chosen, and the variable\n"
           "                 that the program would get\n"
           "  --online       learn the sites while the program runs, without a profile. New\n"
           "                 memory comes from the fast tier first until more is known\n"
           "  -o, --output PROFILE\n"
           "                 with --online: the profile to write\n"
           "  --overhead PERCENT\n"
           "                 with --online: of the CPUs' time, for samples, decisions and\n"
           "                 moves (default: 1%%)\n"
           "  -h, --help     this text\n"
           "  -V, --version  the version\n"
           "\n"
           "Exit status: that of the program; 125 it cannot be guided and was not run, 126\n"
           "it cannot be run, 127 there is no such program, 2 wrong usage.\n",
           hm_packer_at(0)->name);
}

static int take_nodes(void *data, const char *text, struct hm_error *error)
{
    struct hm_sites_guide *options = data;
    options->has_nodes = true;
    return hm_sites_take_nodes(text, &options->layout, error);
}

int hm_sites_take_nodes(const char *text, struct hm_layout *layout, struct hm_error *error)
{
    if (hm_preload_parse_nodes(text, layout, NULL) == 0)
        return 0;
    return hm_fail(error, EINVAL,
                   "\"%.60s\" is wrong: write fast=NODE,... slow=NODE,..., each node as NODE or NODE@SOCKET", text);
}

static int take_overhead(void *data, const char *text, struct hm_error *error)
{
    struct hm_sites_guide *options = data;
    options->has_overhead = true;
    return hm_watching_take_overhead(text, &options->overhead, error);
}

/* What does not go together; NULL: all does. */
static const char *what_is_wrong(const struct hm_sites_guide *options)
{
    if (!options->is_online)
        return options->output || options->has_overhead ? "--output and --overhead are for --online" : NULL;
    if (options->any_build || options->takes_stale || options->shared || options->prints)
        return "--online needs no profile: leave out --any-build, --stale, --shared and --print";
    if (options->choice.has_fast && options->choice.percent >= 0)
        return "with --online, --fast is a size, as in --fast 4G: no profile tells the peak";
    return NULL;
}

/* What is missing, with an example; NULL: nothing. */
static const char *what_is_missing(int argc, char **argv, struct hm_sites_guide *options)
{
    int at = optind;
    if (!options->choice.has_fast)
        return "--fast is missing: say how large the fast tier is, as in --fast 4G";
    if (options->is_online && strcmp(argv[at - 1], "--") != 0)
        return "with --online there is no profile: give the program after --, as in: --online --fast 4G -- ./app";
    if (strcmp(argv[at - 1], "--") != 0) { /* else the program comes next, and its profile is in a store */
        if (at == argc)
            return "the profile and the program are missing, as in: app.json -- ./app; or -- ./app alone";
        options->profile = argv[at++];
        if (at < argc && strcmp(argv[at], "--") == 0)
            at++;
    }
    if (options->profile && options->input)
        return "the profile is of an input of its own: leave out --input-class";
    options->program = argv + at;
    return at < argc && *argv[at] ? NULL
                                  : "the program is missing: give it after the profile, as in: app.json -- ./app";
}

int hm_sites_guide_parse(int argc, char **argv, struct hm_sites_guide *options)
{
    const struct hm_word table[] = {
        {"fast", .take = hm_sites_take_fast},
        {"packer", .take = hm_sites_take_packer},
        {"nodes", .take = take_nodes},
        {"any-build", .flag = &options->any_build},
        {"stale", .flag = &options->takes_stale},
        {"input-class", .text = &options->input},
        {"shared", .text = &options->shared},
        {"print", .flag = &options->prints},
        {"online", .flag = &options->is_online},
        {"output", .path = &options->output, .letter = 'o'},
        {"overhead", .take = take_overhead},
    };
    const struct hm_words words = {"sites guide", print_help, table, sizeof(table) / sizeof(table[0]), options};
    *options = (struct hm_sites_guide){.choice = {.packer = hm_packer_at(0)}, .overhead = HM_ONLINE_OVERHEAD};
    int status = hm_words_parse_before(argc, argv, &words);
    const char *missing = status < 0 ? what_is_wrong(options) : NULL;
    if (status < 0 && !missing)
        missing = what_is_missing(argc, argv, options);
    if (!missing)
        return status;
    fprintf(stderr, HM_SITES_GUIDE ": %s\n", missing);
    return HM_SITES_BAD;
}
