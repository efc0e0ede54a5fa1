/* SPDX-License-Identifier: Apache-2.0 */
/* `hybridmem sites show`: the sites of a profile, as a table for people, or as JSON. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/output.h"
#include "base/plural.h"
#include "base/size.h"
#include "cli/draw/figures.h"
#include "cli/draw/picture.h"
#include "cli/draw/table.h"
#include "commands.h"

#define NAME "hybridmem sites show"
#define WHERE_TEXT 512 /* bytes of where a site is, in the page */

static void print_help(void)
{
    puts("Usage: hybridmem sites show [--html FILE | --json] PROFILE\n"
         "\n"
         "The sites of a profile that hybridmem sites run has made, the most used first:\n"
         "how much each allocates, and touches of it (RESIDENT), for how long, and its\n"
         "share of the sampled accesses.\n"
         "\n"
         "  --html FILE    a page of HTML that needs nothing else, with the share of the\n"
         "                 accesses by capacity; - is standard output\n"
         "  --json         one JSON object, in the form of sites.schema.json\n"
         "  -h, --help     this text\n"
         "  -V, --version  the version\n"
         "\n"
         "Exit status: 0, 1 the output cannot be written, 2 wrong usage or no profile.");
}

enum { SITE, ALLOCATIONS, PEAK, RESIDENT, MEAN, LIFETIME, SHARE, BOUNDS, WHERE, N_COLUMNS };
static const struct hm_column columns[N_COLUMNS] = {
    [SITE] = {.title = "SITE"},
    [ALLOCATIONS] = {.title = "ALLOCATIONS", .is_right = true},
    [PEAK] = {.title = "PEAK", .is_right = true},
    [RESIDENT] = {.title = "RESIDENT", .is_right = true},
    [MEAN] = {.title = "MEAN", .is_right = true},
    [LIFETIME] = {.title = "LIFETIME", .is_right = true},
    [SHARE] = {.title = "ACCESSES", .is_right = true},
    [BOUNDS] = {.title = "95 % SURE", .is_right = true},
    [WHERE] = {.title = "WHERE"},
};

struct shown {
    const struct hm_profile *profile;
    const size_t *order;
    double accesses; /* of the whole program */
    struct hm_sites_names names;
};

static void write_cell(const void *data, size_t row, size_t column, char cell[HM_TABLE_CELL])
{
    const struct shown *shown = data;
    const struct hm_profile_site *site = &shown->profile->site[shown->order[row]];
    struct hm_profile_bounds bounds;
    double share;
    switch (column) {
    case SITE:
        snprintf(cell, HM_TABLE_CELL, "%016" PRIx64, site->id);
        break;
    case ALLOCATIONS:
        snprintf(cell, HM_TABLE_CELL, "%" PRIu64, site->allocations);
        break;
    case PEAK:
        hm_size_format(site->peak_bytes, cell, HM_TABLE_CELL);
        break;
    case RESIDENT:
        hm_size_format(site->resident.peak_bytes, cell, HM_TABLE_CELL);
        if (!site->resident.is_known)
            snprintf(cell, HM_TABLE_CELL, "-");
        break;
    case MEAN:
        hm_size_format((uint64_t)site->mean_bytes, cell, HM_TABLE_CELL);
        break;
    case LIFETIME:
        snprintf(cell, HM_TABLE_CELL, isnan(site->lifetime_s) ? "-" : "%.3g s", site->lifetime_s);
        break;
    case SHARE:
        share = shown->accesses > 0 ? hm_profile_accesses(site) / shown->accesses : NAN;
        snprintf(cell, HM_TABLE_CELL, isnan(share) ? "-" : "%.1f %%", 100 * share);
        break;
    case BOUNDS:
        bounds = hm_profile_confidence(shown->profile, shown->accesses, site);
        snprintf(cell, HM_TABLE_CELL, isnan(bounds.low) ? "-" : "%.1f to %.1f", 100 * bounds.low, 100 * bounds.high);
        break;
    default:
        hm_sites_where(shown->profile, &shown->names, site, cell, HM_TABLE_CELL);
    }
}

static void print_sampling(const struct hm_profile *profile, double accesses)
{
    printf("%.0f %s by %s; %.1f %% of the accesses were to memory of none of these sites\n", profile->samples,
           hm_plural((uint64_t)round(profile->samples), "sample", "samples"), profile->source,
           100 * profile->elsewhere / accesses);
    if (profile->saturated > 0)
        printf("saturated: %.1f %% of the accesses were to memory in use at nearly every look, and may be more\n",
               100 * fmin(profile->saturated / accesses, 1));
    putchar('\n');
}

static int print_table(const struct hm_profile *profile)
{
    size_t *order = hm_sites_sort(profile), screen = hm_words_columns(stdout);
    struct shown shown = {profile, order, hm_profile_all_accesses(profile), {0, NULL}};
    struct hm_error why;
    if (!order) {
        errno = ENOMEM;
        return -1;
    }
    shown.names = hm_sites_names_find(profile);
    char peak[24], room[24], input[HM_SITES_INPUT];
    const struct hm_table table = {columns, N_COLUMNS, profile->n_sites, write_cell, &shown};
    printf("%zu %s, %s at %s peak", profile->n_sites, hm_plural(profile->n_sites, "site", "sites"),
           hm_size_format(profile->peak_bytes, peak, sizeof(peak)), hm_plural(profile->n_sites, "its", "their"));
    if (profile->has_resident_peak)
        printf(", %s of it resident", hm_size_format(profile->resident_peak_bytes, room, sizeof(room)));
    printf(", in %.3g s%s%s\n", profile->elapsed_s, hm_sites_input(profile, input)[0] ? ", of the input " : "", input);
    if (hm_profile_is_counted(profile) && shown.accesses > 0)
        printf("bytes counted while each site was alone in the slow tier (%s); %.1f %% of them were of none of these "
               "sites\n\n",
               profile->source, 100 * profile->elsewhere / shown.accesses);
    else if (profile->source && shown.accesses > 0)
        print_sampling(profile, shown.accesses);
    else
        hm_words_put_text(stdout, screen, 0, "accesses were not sampled: %s\n",
                          hm_profile_unsampled(profile, why.text, sizeof(why.text)));
    hm_table_print(stdout, &table, screen);
    hm_sites_names_free(&shown.names);
    free(order);
    return 0;
}

/* This process becomes the program that draws. Returns the exit status, with a line, where it does not. */
static int draw_page(const struct hm_profile *profile, const char *path)
{
    struct hm_error error = {"out of memory"};
    struct hm_sites_names names = hm_sites_names_find(profile);
    json_t *where = json_array();
    for (size_t i = 0; i < profile->n_sites; i++) {
        char text[WHERE_TEXT];
        json_array_append_new(where, json_string(hm_sites_where(profile, &names, &profile->site[i], text, WHERE_TEXT)));
    }
    json_t *figures = json_pack("{s:o, s:o}", "profile", hm_profile_json(profile), "where",
                                hm_figures_whole(where, profile->n_sites));
    if (figures)
        hm_picture_draw("sites", "--html", path, figures, &error);
    fprintf(stderr, NAME ": %s\n", error.text);
    json_decref(figures);
    hm_sites_names_free(&names);
    return HM_SITES_FAILED;
}

int hm_sites_show(int argc, char **argv)
{
    bool json = false;
    const char *html = NULL;
    const struct hm_word table[] = {{"json", .flag = &json}, {"html", .path = &html}};
    const struct hm_words words = {"sites show", print_help, table, 2, NULL};
    int status = hm_words_parse(argc, argv, &words);
    if (status >= 0)
        return status;
    if (html && json) {
        fputs(NAME ": --html and --json exclude each other: give one\n", stderr);
        return HM_SITES_BAD;
    }
    struct hm_profile *profile = hm_sites_open(argc, argv, &words, &status);
    if (!profile)
        return status;
    if (html) {
        status = draw_page(profile, html);
        hm_profile_free(profile);
        return status;
    }
    int result = json ? hm_figures_end(stdout, hm_profile_json(profile), JSON_INDENT(2)) : print_table(profile);
    hm_profile_free(profile);
    return hm_output_end(NAME, result, EXIT_SUCCESS);
}
