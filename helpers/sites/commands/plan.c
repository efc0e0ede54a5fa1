/* SPDX-License-Identifier: Apache-2.0 */
/* `hybridmem sites plan`: which sites of a profile should have the fast memory, and what that gives. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/output.h"
#include "base/size.h"
#include "cli/draw/figures.h"
#include "cli/draw/table.h"
#include "commands.h"
#include "sites/pack/pack.h"

#define NAME "hybridmem sites plan"
#define FACT 10 /* column of a fact */

struct options {
    bool json, has_fast;
    double percent; /* of the peak; negative: `bytes` counts */
    uint64_t bytes;
    const struct hm_packer *packer;
};

static void print_help(void)
{
    printf("Usage: hybridmem sites plan --fast 25%%|SIZE [--packer NAME] [--json] PROFILE\n"
           "\n"
           "Chooses the sites of a profile whose memory should be in the fast tier, says why,\n"
           "and which share of the sampled accesses that would serve.\n"
           "\n"
           "  --fast SIZE    capacity of the fast tier: a share of the peak, as in 25%%, or\n"
           "                 bytes, as in 4G\n"
           "  --packer NAME  how sites are chosen (default: %s):\n",
           hm_packer_at(0)->name);
    for (size_t i = 0; hm_packer_at(i); i++)
        hm_words_put_row(stdout, HM_WORDS_COLUMNS, 27, hm_packer_at(i)->summary, "                 %s",
                         hm_packer_at(i)->name);
    puts("  --json         one JSON object\n"
         "  -h, --help     this text\n"
         "  -V, --version  the version\n"
         "\n"
         "Exit status: 0, 1 the profile has no accesses to plan by, or the output cannot\n"
         "be written, 2 wrong usage or no profile.");
}

static int take_fast(void *data, const char *text, struct hm_error *error)
{
    struct options *options = data;
    options->has_fast = true;
    if (strchr(text, '%'))
        return hm_size_parse_percent(text, &options->percent, error);
    options->percent = -1;
    return hm_size_parse(text, &options->bytes, error);
}

static int take_packer(void *data, const char *text, struct hm_error *error)
{
    struct options *options = data;
    options->packer = hm_packer_find(text, error);
    return options->packer ? 0 : -1;
}

struct plan {
    const struct options *options;
    const struct hm_profile *profile;
    uint64_t capacity;
    double accesses; /* of the whole program */
    struct hm_pack_result result;
    size_t *order;
    struct hm_sites_names names; /* where people read the plan */
};

static double share_of(const struct plan *plan, double accesses)
{
    return plan->accesses > 0 ? accesses / plan->accesses : NAN;
}

/* Returns 0, or -1 with a text. */
static int make(struct plan *plan, struct hm_error *error)
{
    const struct hm_profile *profile = plan->profile;
    struct hm_pack_item *item = calloc(profile->n_sites + 1, sizeof(*item));
    plan->result.is_fast = calloc(profile->n_sites + 1, sizeof(bool));
    plan->order = hm_sites_sort(profile);
    plan->accesses = hm_profile_all_accesses(profile);
    plan->capacity = plan->options->percent < 0
                         ? plan->options->bytes
                         : (uint64_t)((double)profile->peak_bytes * plan->options->percent / 100);
    plan->capacity = hm_least(plan->capacity, HM_PACK_MOST);
    int status = item && plan->result.is_fast && plan->order ? 0 : -1;
    for (size_t i = 0; status == 0 && i < profile->n_sites; i++) {
        double accesses = hm_profile_accesses(&profile->site[i]);
        item[i] = (struct hm_pack_item){profile->site[i].peak_bytes, isnan(accesses) ? 0 : accesses};
    }
    if (status == 0)
        status = hm_pack(plan->options->packer, item, profile->n_sites, plan->capacity, &plan->result);
    free(item);
    return status == 0 ? 0 : hm_fail(error, ENOMEM, "out of memory");
}

enum { SITE, TIER, PEAK, ACCESSES, WHY, WHERE, N_COLUMNS };
static const struct hm_column columns[N_COLUMNS] = {
    [SITE] = {.title = "SITE"},
    [TIER] = {.title = "TIER"},
    [PEAK] = {.title = "PEAK", .is_right = true},
    [ACCESSES] = {.title = "ACCESSES", .is_right = true},
    [WHY] = {.title = "WHY"},
    [WHERE] = {.title = "WHERE"},
};

static const char *why(const struct plan *plan, size_t at)
{
    const struct hm_profile_site *site = &plan->profile->site[at];
    double accesses = hm_profile_accesses(site);
    if (isnan(accesses))
        return "its accesses are not known";
    if (!(accesses > 0))
        return "no access was seen";
    if (site->peak_bytes > plan->capacity)
        return plan->result.is_fast[at] ? "the part that finds room" : "larger than the tier";
    return plan->result.is_fast[at] ? "accesses per byte" : "others are worth more";
}

static void write_cell(const void *data, size_t row, size_t column, char cell[HM_TABLE_CELL])
{
    const struct plan *plan = data;
    size_t at = plan->order[row];
    const struct hm_profile_site *site = &plan->profile->site[at];
    double share = share_of(plan, hm_profile_accesses(site));
    switch (column) {
    case SITE:
        snprintf(cell, HM_TABLE_CELL, "%016" PRIx64, site->id);
        break;
    case TIER:
        snprintf(cell, HM_TABLE_CELL, "%s", plan->result.is_fast[at] ? "fast" : "slow");
        break;
    case PEAK:
        hm_size_format(site->peak_bytes, cell, HM_TABLE_CELL);
        break;
    case ACCESSES:
        snprintf(cell, HM_TABLE_CELL, isnan(share) ? "-" : "%.1f %%", 100 * share);
        break;
    case WHY:
        snprintf(cell, HM_TABLE_CELL, "%s", why(plan, at));
        break;
    default:
        hm_sites_where(plan->profile, &plan->names, site, cell, HM_TABLE_CELL);
    }
}

static void put_fact(size_t screen, const char *name, const char *text)
{
    hm_words_put_row(stdout, screen, FACT, text, "%s", name);
}

static void print_text(const struct plan *plan)
{
    const struct hm_pack_result *result = &plan->result;
    size_t screen = hm_words_columns(stdout);
    char text[256], size[2][24];
    const struct hm_table table = {columns, N_COLUMNS, plan->profile->n_sites, write_cell, plan};
    snprintf(text, sizeof(text), "%s: %s", plan->options->packer->name, plan->options->packer->summary);
    put_fact(screen, "packer", text);
    snprintf(text, sizeof(text), "%s, of %s at the peak", hm_size_format(plan->capacity, size[0], sizeof(size[0])),
             hm_size_format(plan->profile->peak_bytes, size[1], sizeof(size[1])));
    put_fact(screen, "capacity", text);
    snprintf(text, sizeof(text), "%s at their peaks%s", hm_size_format(result->bytes, size[0], sizeof(size[0])),
             result->bytes > plan->capacity ? ", more than fits: some of it will be in the slow tier" : "");
    put_fact(screen, "fast", text);
    snprintf(text, sizeof(text),
             "%.1f %% of the accesses served by the fast tier; no choice that fits has more than %.1f %%",
             100 * share_of(plan, result->kept),
             100 * share_of(plan, result->is_exact ? result->value : result->bound));
    put_fact(screen, "expected", text);
    putchar('\n');
    hm_table_print(stdout, &table, screen);
}

static int print_json(const struct plan *plan)
{
    const struct hm_pack_result *result = &plan->result;
    json_t *fast = json_array();
    size_t n = 0;
    for (size_t i = 0; i < plan->profile->n_sites; i++) {
        char id[17];
        size_t at = plan->order[i];
        if (!result->is_fast[at])
            continue;
        snprintf(id, sizeof(id), "%016" PRIx64, plan->profile->site[at].id);
        json_array_append_new(fast, json_string(id));
        n++;
    }
    json_t *all =
        json_pack("{s:s, s:I, s:o, s:I, s:o, s:o}", "packer", plan->options->packer->name, "capacity_bytes",
                  (json_int_t)plan->capacity, "fast", hm_figures_whole(fast, n), "fast_bytes",
                  (json_int_t)result->bytes, "expected_share", hm_figures_real(share_of(plan, result->kept)),
                  "bound_share", hm_figures_real(share_of(plan, result->is_exact ? result->value : result->bound)));
    return hm_figures_end(stdout, all, JSON_INDENT(2));
}

static int run(struct plan *plan, const char *path)
{
    struct hm_error error = {""};
    int status = EXIT_SUCCESS, result = 0;
    if (make(plan, &error) < 0) {
        fprintf(stderr, NAME ": %s\n", error.text);
        status = HM_SITES_FAILED;
    } else if (!(plan->accesses > 0)) {
        fprintf(stderr, NAME ": %s has no accesses to plan by: %s\n", path,
                plan->profile->why ? plan->profile->why : "no sample was taken");
        status = HM_SITES_FAILED;
    } else if (plan->options->json) {
        result = print_json(plan);
    } else {
        plan->names = hm_sites_names_find(plan->profile);
        print_text(plan);
        hm_sites_names_free(&plan->names);
    }
    free(plan->result.is_fast);
    free(plan->order);
    return status == EXIT_SUCCESS ? hm_output_end(NAME, result, status) : status;
}

int hm_sites_plan(int argc, char **argv)
{
    struct options options = {.packer = hm_packer_at(0)};
    const struct hm_word table[] = {
        {"json", .flag = &options.json}, {"fast", .take = take_fast}, {"packer", .take = take_packer}};
    const struct hm_words words = {"sites plan", print_help, table, 3, &options};
    int status = hm_words_parse(argc, argv, &words);
    if (status >= 0)
        return status;
    if (!options.has_fast) {
        fputs(NAME ": --fast is missing: say how large the fast tier is, as in --fast 25% or --fast 4G\n", stderr);
        return HM_SITES_BAD;
    }
    struct hm_profile *profile = hm_sites_open(argc, argv, &words, &status);
    if (!profile)
        return status;
    struct plan plan = {.options = &options, .profile = profile};
    status = run(&plan, argv[argc - 1]);
    hm_profile_free(profile);
    return status;
}
