/* SPDX-License-Identifier: Apache-2.0 */
/* `hybridmem sites plan`: which sites of a profile should have the fast memory, and what that gives. */
#include <config.h>
#include <errno.h>
#include <stdlib.h>

#include "base/output.h"
#include "choice.h"
#include "commands.h"
#include "plan.h"

#define NAME "hybridmem sites plan"

struct options {
    struct hm_sites_choice choice; /* first, for its functions */
    bool json, has_tiers;
    const char *topology; /* NULL: this node's */
};

static void print_help(void)
{
    printf("Usage: hybridmem sites plan --fast 25%%|SIZE [OPTION]... PROFILE\n"
           "\n"
           "Chooses the sites of a profile whose memory should be in the fast tier, says\n"
           "why, and which share of the sampled accesses that would serve.\n"
           "\n"
           "  --fast SIZE    capacity of the fast tier: a share of the peak, as in 25%%, or\n"
           "                 bytes, as in 4G\n"
           "  --packer NAME  how sites are chosen (default: %s):\n",
           hm_packer_at(0)->name);
    for (size_t i = 0; hm_packer_at(i); i++)
        hm_words_put_row(stdout, HM_WORDS_COLUMNS, 27, hm_packer_at(i)->summary, "                 %s",
                         hm_packer_at(i)->name);
    puts("  --tiers        count what reads and writes cost in this node's tiers, and the\n"
         "                 bandwidth of both where they have channels of their own\n"
         "  --topology FILE.xml\n"
         "                 the same for the node that hwloc's XML describes\n"
         "  --json         one JSON object\n"
         "  -h, --help     this text\n"
         "  -V, --version  the version\n"
         "\n"
         "Exit status: 0, 1 the profile has no accesses to plan by, the node's tiers are\n"
         "not known, or the output cannot be written, 2 wrong usage or no profile.");
}

/* Fills in the plan. Returns 0, or -1 with a text. */
static int make(const struct options *options, struct hm_sites_plan *plan, struct hm_error *error)
{
    plan->packer = options->choice.packer;
    plan->has_arenas = HM_ARENAS;
    plan->capacity = hm_sites_capacity(&options->choice, plan->profile);
    if ((options->has_tiers || options->topology) && hm_sites_costs_read(options->topology, &plan->costs, error) < 0)
        return -1;
    return hm_sites_plan_make(plan) == 0 ? 0 : hm_fail(error, ENOMEM, "out of memory");
}

static int run(const struct options *options, struct hm_sites_plan *plan, const char *path)
{
    struct hm_error error = {""}, why;
    int status = EXIT_SUCCESS, result = 0;
    if (make(options, plan, &error) < 0) {
        fprintf(stderr, NAME ": %s\n", error.text);
        status = HM_SITES_FAILED;
    } else if (!(plan->accesses > 0)) {
        fprintf(stderr, NAME ": %s has no accesses to plan by: %s\n", path,
                hm_profile_unsampled(plan->profile, why.text, sizeof(why.text)));
        status = HM_SITES_FAILED;
    } else if (options->json) {
        result = hm_sites_plan_print_json(plan);
    } else {
        plan->names = hm_sites_names_find(plan->profile);
        hm_sites_plan_print(plan);
        hm_sites_names_free(&plan->names);
    }
    free(plan->result.is_fast);
    free(plan->slices);
    free(plan->order);
    return status == EXIT_SUCCESS ? hm_output_end(NAME, result, status) : status;
}

int hm_sites_plan(int argc, char **argv)
{
    struct options options = {.choice = {.packer = hm_packer_at(0)}};
    const struct hm_word table[] = {{"json", .flag = &options.json},
                                    {"fast", .take = hm_sites_take_fast},
                                    {"packer", .take = hm_sites_take_packer},
                                    {"tiers", .flag = &options.has_tiers},
                                    {"topology", .path = &options.topology}};
    const struct hm_words words = {"sites plan", print_help, table, sizeof(table) / sizeof(table[0]), &options};
    int status = hm_words_parse(argc, argv, &words);
    if (status >= 0)
        return status;
    if (!options.choice.has_fast) {
        fputs(NAME ": --fast is missing: say how large the fast tier is, as in --fast 25% or --fast 4G\n", stderr);
        return HM_SITES_BAD;
    }
    struct hm_profile *profile = hm_sites_open(argc, argv, &words, &status);
    if (!profile)
        return status;
    struct hm_sites_plan plan = {.profile = profile};
    status = run(&options, &plan, argv[argc - 1]);
    hm_profile_free(profile);
    return status;
}
