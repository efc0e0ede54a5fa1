/* SPDX-License-Identifier: Apache-2.0 */
#include "online.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/left.h"
#include "base/plural.h"
#include "base/size.h"
#include "run.h"
#include "watching.h"

#define LISTED 32 /* sites that a record has */

int hm_sites_online_run(struct hm_sites_guide *options)
{
    struct hm_error error = {""};
    struct hm_online_setup setup = {
        .packer = options->choice.packer, .capacity = options->choice.bytes, .overhead = options->overhead};
    struct hm_sites_run run = {.command = HM_SITES_GUIDE,
                               .output = options->output,
                               .online = &setup,
                               .input_class = options->input,
                               .source = HM_SOURCE_AUTO,
                               .overhead = options->overhead,
                               .least_bytes = HM_WATCHING_LEAST,
                               .program = options->program};
    if (hm_sites_guide_nodes(options, &error) < 0)
        return hm_sites_run_fail(&run, HM_SITES_RUN_FAILED, error.text);
    setup.layout = options->layout;
    return hm_sites_run_program(&run);
}

void hm_sites_online_tell(const struct hm_online *online, const char *command)
{
    char chosen[24], up[24], down[24], served[64] = "";
    struct hm_online_figures *figures = malloc(sizeof(*figures));
    if (!figures)
        return;
    hm_online_report(online, figures);
    if (!isnan(figures->seen_share))
        snprintf(served, sizeof(served), "; it served %.0f %% of %" PRIu64 " %s", figures->seen_share * 100,
                 figures->samples, hm_plural(figures->samples, "sample", "samples"));
    if (figures->why[0])
        fprintf(stderr, "%s: no site was placed: %s\n", command, figures->why);
    else
        fprintf(stderr,
                "%s: at the end %zu %s with %s %s in the fast tier%s; %" PRIu64 " %s moved %s there and %s away\n",
                command, figures->n_sites, hm_plural(figures->n_sites, "site", "sites"),
                hm_size_format(figures->fast_bytes, chosen, sizeof(chosen)), hm_plural(figures->n_sites, "was", "were"),
                served, figures->phases, hm_plural(figures->phases, "decision has", "decisions have"),
                hm_size_format(figures->promoted_bytes, up, sizeof(up)),
                hm_size_format(figures->demoted_bytes, down, sizeof(down)));
    free(figures);
}

int hm_sites_online_write(const struct hm_online *online, const char *packer, const char *source, int fd)
{
    struct hm_online_figures *figures = malloc(sizeof(*figures));
    char *line = NULL;
    size_t length = 0;
    FILE *out = figures ? open_memstream(&line, &length) : NULL;
    int status = -1;
    if (out) {
        hm_online_report(online, figures);
        fprintf(out, "guided packer=%s phases=%" PRIu64 " promoted_bytes=%" PRIu64 " demoted_bytes=%" PRIu64, packer,
                figures->phases, figures->promoted_bytes, figures->demoted_bytes);
        fprintf(out, " fast_bytes=%" PRIu64 " limit_bytes=%" PRIu64 " samples=%" PRIu64, figures->fast_bytes,
                figures->limit_bytes, figures->samples);
        if (source[0])
            fprintf(out, " source=%s", source);
        if (!isnan(figures->expected_share))
            fprintf(out, " expected_share=%.6f", figures->expected_share);
        if (!isnan(figures->seen_share))
            fprintf(out, " seen_share=%.6f", figures->seen_share);
        fprintf(out, " site_count=%zu", figures->n_sites);
        for (size_t i = 0; i < figures->n_sites && i < LISTED; i++)
            fprintf(out, "%s%016" PRIx64, i > 0 ? "," : " sites=", figures->site[i]);
        if (figures->why[0])
            fprintf(out, " why=%s", figures->why); /* the last, as it has spaces */
        fputc('\n', out);
        status = fclose(out) == 0 ? 0 : -1;
    }
    if (status == 0)
        status = hm_left_add(fd, line, length);
    free(line);
    free(figures);
    return status;
}
