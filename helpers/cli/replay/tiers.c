/* SPDX-License-Identifier: Apache-2.0 */
#include "tiers.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>

#include "base/plural.h"
#include "base/size.h"
#include "base/words.h"
#include "cli/draw/figures.h"

const char *hm_replaytiers_title(const struct hm_replay_tier *tier, char title[HM_NAME])
{
    size_t i = 0;
    for (; tier->name[i]; i++)
        title[i] = (char)toupper((unsigned char)tier->name[i]);
    title[i] = '\0';
    return title;
}

/* How many pages the tier has room for; the last one has the rest. */
static uint64_t pages_of(const struct hm_replay_report *report, unsigned tier)
{
    const struct hm_replay_options *options = report->options;
    uint64_t left = report->trace->n_pages;
    for (unsigned other = 0; other < tier; other++)
        left -= pages_of(report, other);
    return tier + 1 < options->n_tiers ? hm_replay_capacity(report->trace, options->tier[tier].share) : left;
}

void hm_replaytiers_list(FILE *out, size_t columns, const struct hm_replay_report *report)
{
    const struct hm_replay_options *options = report->options;
    char size[24];
    for (unsigned tier = 0; tier < options->n_tiers; tier++) {
        const struct hm_replay_tier *here = &options->tier[tier];
        uint64_t pages = pages_of(report, tier);
        hm_words_put_text(out, columns, 4, "  %s: %" PRIu64 " %s (%s), %.6g ns to read, %.6g ns to write", here->name,
                          pages, hm_plural(pages, "page", "pages"),
                          hm_size_format(pages * HM_TRACE_PAGE, size, sizeof(size)), here->read * options->unit_ns,
                          here->write * options->unit_ns);
    }
}

static void print_moves(FILE *out, size_t columns, size_t indent, const struct hm_replay_report *report)
{
    const struct hm_replay_options *options = report->options;
    const struct hm_score *score = &report->result.ours;
    char text[HM_WORDS_TEXT] = "";
    size_t length = 0;
    for (unsigned from = 0; from < options->n_tiers; from++)
        for (unsigned to = 0; to < options->n_tiers; to++)
            if (score->moved[from][to] > 0 && length < sizeof(text))
                length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s to %s %" PRIu64,
                                           length > 0 ? ", " : "", options->tier[from].name, options->tier[to].name,
                                           score->moved[from][to]);
    hm_words_put_text(out, columns, indent, "Pages moved: %s.", length > 0 ? text : "none");
}

void hm_replaytiers_text(FILE *out, size_t columns, size_t indent, const struct hm_replay_report *report)
{
    hm_words_put_text(out, columns, indent,
                      "Below a tier's name: the share of the accesses to memory that it served. AMAT: 1 is a read from "
                      "%s.",
                      report->options->tier[0].name);
    print_moves(out, columns, indent, report);
}

json_t *hm_replaytiers_json(const struct hm_replay_report *report)
{
    const struct hm_replay_options *options = report->options;
    json_t *array = json_array();
    for (unsigned tier = 0; tier < options->n_tiers; tier++)
        json_array_append_new(array, json_pack("{s:s, s:I, s:f, s:f}", "name", options->tier[tier].name, "pages",
                                               (json_int_t)pages_of(report, tier), "read_ns",
                                               options->tier[tier].read * options->unit_ns, "write_ns",
                                               options->tier[tier].write * options->unit_ns));
    return hm_figures_whole(array, options->n_tiers);
}

int hm_replaytiers_add(json_t *object, const struct hm_replay_report *report, const struct hm_score *score)
{
    const struct hm_replay_options *options = report->options;
    json_t *tiers = json_array(), *moves = json_array();
    size_t n_moves = 0;
    for (unsigned from = 0; from < options->n_tiers; from++) {
        json_array_append_new(tiers, json_pack("{s:s, s:o, s:o}", "name", options->tier[from].name, "share_mem",
                                               hm_figures_real(score->tier_mem[from]), "share_writes",
                                               hm_figures_real(score->tier_writes[from])));
        for (unsigned to = 0; to < options->n_tiers; to++) {
            if (score->moved[from][to] == 0)
                continue;
            json_array_append_new(moves,
                                  json_pack("{s:s, s:s, s:I}", "from", options->tier[from].name, "to",
                                            options->tier[to].name, "pages", (json_int_t)score->moved[from][to]));
            n_moves++;
        }
    }
    int added = json_object_set_new(object, "tier_shares", hm_figures_whole(tiers, options->n_tiers));
    return json_object_set_new(object, "moves", hm_figures_whole(moves, n_moves)) < 0 ? -1 : added;
}
