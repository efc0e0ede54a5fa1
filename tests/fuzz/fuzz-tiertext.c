/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the text of a replay's tiers, one a line: those that are accepted are ordered, with names of their own, and
 * with no more than all pages.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "inputtext.h"
#include "migrator/replay/tiertext.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct hm_replay_options *options)
{
    double shares = 0;
    if (options->n_tiers > HM_MAX_TIERS || !(options->unit_ns > 0))
        abort();
    for (unsigned tier = 0; tier < options->n_tiers; tier++) {
        const struct hm_replay_tier *here = &options->tier[tier], *before = tier > 0 ? here - 1 : here;
        shares += here->share;
        if (!isfinite(here->read) || !isfinite(here->write) || !(here->write > 0) || here->read < before->read ||
            here->write < before->write || strlen(here->name) == 0 || strchr(here->name, ':'))
            abort();
        for (unsigned other = 0; other < tier; other++)
            if (options->tier[other].has_rest || strcmp(options->tier[other].name, here->name) == 0)
                abort();
    }
    if (options->tier[0].read < 1 || options->tier[0].read > 1 || shares > 1 + 1e-6)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hm_replay_options options = {.n_tiers = 0};
    char *text = input_text(data, size), *rest = text;
    while (rest)
        (void)hm_replay_tier_add(&options, strsep(&rest, "\n"), NULL);
    if (options.n_tiers > 0)
        check(&options);
    if (hm_replay_tiers_check(&options, NULL) == 0 &&
        (options.n_tiers < 2 || !options.tier[options.n_tiers - 1].has_rest))
        abort();
    free(text);
    return 0;
}
