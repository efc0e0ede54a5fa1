/* SPDX-License-Identifier: Apache-2.0 */
/* `hybridmem sites diff`: what differs between two profiles. */
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/output.h"
#include "base/plural.h"
#include "base/size.h"
#include "cli/draw/figures.h"
#include "cli/draw/table.h"
#include "commands.h"
#include "compare.h"

#define NAME "hybridmem sites diff"

static void print_help(void)
{
    puts("Usage: hybridmem sites diff [--json] OLD NEW\n"
         "\n"
         "The sites that came and went from one profile to the other, and those that have\n"
         "another peak, or another share of the accesses than chance explains.\n"
         "\n"
         "  --json         one JSON object\n"
         "  -h, --help     this text\n"
         "  -V, --version  the version\n"
         "\n"
         "Exit status: 0, 1 the output cannot be written, 2 wrong usage or no profile.");
}

struct diff {
    struct hm_profile *old, *new;
    struct hm_sites_names old_names, new_names;
    struct hm_sites_changes changes;
    const struct hm_sites_pair **row; /* pairs that differ */
    size_t n_rows, came, went;
};

static const char *what(const struct hm_sites_pair *pair)
{
    if (!pair->old || !pair->new)
        return pair->new ? "came" : "went";
    if (pair->has_other_peak && pair->has_other_share)
        return "peak, accesses";
    return pair->has_other_peak ? "peak" : pair->has_other_share ? "accesses" : "same";
}

enum { SITE, WHAT, OLD_PEAK, NEW_PEAK, OLD_SHARE, NEW_SHARE, WHERE, N_COLUMNS };
static const struct hm_column columns[N_COLUMNS] = {
    [SITE] = {.title = "SITE"},
    [WHAT] = {.title = "WHAT"},
    [OLD_PEAK] = {.title = "OLD PEAK", .is_right = true},
    [NEW_PEAK] = {.title = "NEW PEAK", .is_right = true},
    [OLD_SHARE] = {.title = "OLD ACCESSES", .is_right = true},
    [NEW_SHARE] = {.title = "NEW ACCESSES", .is_right = true},
    [WHERE] = {.title = "WHERE"},
};

static void write_peak(const struct hm_profile_site *site, char cell[HM_TABLE_CELL])
{
    if (site)
        hm_size_format(site->peak_bytes, cell, HM_TABLE_CELL);
    else
        snprintf(cell, HM_TABLE_CELL, "-");
}

static void write_share(double all, const struct hm_profile_site *site, char cell[HM_TABLE_CELL])
{
    double share = hm_sites_share(all, site);
    snprintf(cell, HM_TABLE_CELL, isnan(share) ? "-" : "%.1f %%", 100 * share);
}

static void write_cell(const void *data, size_t row, size_t column, char cell[HM_TABLE_CELL])
{
    const struct diff *diff = data;
    const struct hm_sites_pair *pair = diff->row[row];
    switch (column) {
    case SITE:
        snprintf(cell, HM_TABLE_CELL, "%016" PRIx64, pair->new ? pair->new->id : pair->old->id);
        break;
    case WHAT:
        snprintf(cell, HM_TABLE_CELL, "%s", what(pair));
        break;
    case OLD_PEAK:
    case NEW_PEAK:
        write_peak(column == OLD_PEAK ? pair->old : pair->new, cell);
        break;
    case OLD_SHARE:
        write_share(diff->changes.old_accesses, pair->old, cell);
        break;
    case NEW_SHARE:
        write_share(diff->changes.new_accesses, pair->new, cell);
        break;
    default:
        if (pair->new)
            hm_sites_where(diff->new, &diff->new_names, pair->new, cell, HM_TABLE_CELL);
        else
            hm_sites_where(diff->old, &diff->old_names, pair->old, cell, HM_TABLE_CELL);
    }
}

static void print_text(const struct diff *diff)
{
    const struct hm_sites_changes *changes = &diff->changes;
    size_t screen = hm_words_columns(stdout), both = changes->n - diff->came - diff->went;
    size_t changed = diff->n_rows - diff->came - diff->went;
    const struct hm_table table = {columns, N_COLUMNS, diff->n_rows, write_cell, diff};
    printf("%zu %s came, %zu went, and %zu of %zu that stayed changed\n", diff->came,
           hm_plural(diff->came, "site", "sites"), diff->went, changed, both);
    if (!changes->is_same_build)
        hm_words_put_text(stdout, screen, 0,
                          "these are different builds: %zu %s matched by the names of functions, and %zu could "
                          "not be told by names\n",
                          changes->by_name, hm_plural(changes->by_name, "site was", "sites were"),
                          changes->without_names);
    if (diff->n_rows == 0)
        return;
    putchar('\n');
    hm_table_print(stdout, &table, screen);
}

static json_t *side_of(double all, const struct hm_profile_site *site)
{
    char id[17];
    if (!site)
        return json_null();
    snprintf(id, sizeof(id), "%016" PRIx64, site->id);
    return json_pack("{s:s, s:I, s:o}", "id", id, "peak_bytes", (json_int_t)site->peak_bytes, "share",
                     hm_figures_real(hm_sites_share(all, site)));
}

static int print_json(const struct diff *diff)
{
    const struct hm_sites_changes *changes = &diff->changes;
    json_t *sites = json_array();
    for (size_t i = 0; i < diff->n_rows; i++) {
        const struct hm_sites_pair *pair = diff->row[i];
        json_array_append_new(sites, json_pack("{s:s, s:o, s:o}", "what", what(pair), "old",
                                               side_of(changes->old_accesses, pair->old), "new",
                                               side_of(changes->new_accesses, pair->new)));
    }
    json_t *all = json_pack("{s:b, s:I, s:I, s:I, s:o}", "same_build", changes->is_same_build, "matched_by_name",
                            (json_int_t)changes->by_name, "without_names", (json_int_t)changes->without_names, "same",
                            (json_int_t)(changes->n - diff->n_rows), "sites", hm_figures_whole(sites, diff->n_rows));
    return hm_figures_end(stdout, all, JSON_INDENT(2));
}

/* Returns 0, or -1 (ENOMEM). */
static int compare(struct diff *diff)
{
    const struct hm_sites_side old = {diff->old, &diff->old_names}, new = {diff->new, &diff->new_names};
    if (hm_sites_compare(&old, &new, &diff->changes) < 0)
        return -1;
    diff->row = calloc(diff->changes.n + 1, sizeof(*diff->row));
    for (size_t i = 0; diff->row && i < diff->changes.n; i++) {
        const struct hm_sites_pair *pair = &diff->changes.pair[i];
        diff->came += !pair->old;
        diff->went += !pair->new;
        if (!pair->old || !pair->new || pair->has_other_peak || pair->has_other_share)
            diff->row[diff->n_rows++] = pair;
    }
    return diff->row ? 0 : -1;
}

/* Reads both. Returns 0, or -1 with a line. */
static int read_both(char **path, struct diff *diff)
{
    struct hm_error error = {""};
    diff->old = hm_profile_read(path[0], &error);
    diff->new = diff->old ? hm_profile_read(path[1], &error) : NULL;
    if (!diff->new)
        fprintf(stderr, NAME ": %s\n", error.text);
    return diff->new ? 0 : -1;
}

int hm_sites_diff(int argc, char **argv)
{
    bool json = false;
    struct diff diff = {.old = NULL};
    const struct hm_word table[] = {{"json", .flag = &json}};
    const struct hm_words words = {"sites diff", print_help, table, 1, NULL};
    int status = hm_words_parse(argc, argv, &words), result = 0;
    if (status >= 0)
        return status;
    if (optind + 2 < argc)
        return hm_words_refuse(&words, argv[optind + 2]);
    if (optind + 2 > argc) {
        fputs(NAME ": two profiles are needed, as in: hybridmem sites diff old.json new.json\n", stderr);
        return HM_SITES_BAD;
    }
    status = HM_SITES_BAD;
    if (read_both(argv + optind, &diff) == 0) {
        diff.old_names = hm_sites_names_find(diff.old);
        diff.new_names = hm_sites_names_find(diff.new);
        result = compare(&diff);
        if (result == 0 && json)
            result = print_json(&diff);
        else if (result == 0)
            print_text(&diff);
        status = hm_output_end(NAME, result, EXIT_SUCCESS);
    }
    hm_sites_names_free(&diff.old_names);
    hm_sites_names_free(&diff.new_names);
    free(diff.row);
    free(diff.changes.pair);
    hm_profile_free(diff.old);
    hm_profile_free(diff.new);
    return status;
}
