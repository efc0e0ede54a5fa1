/* SPDX-License-Identifier: Apache-2.0 */
/* `hybridmem profile mbi status`: which runs of a plan are done, which failed and why, and how to go on. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/output.h"
#include "base/plural.h"
#include "cli/draw/figures.h"
#include "commands.h"

#define NAME "hybridmem profile mbi status"

static void print_help(void)
{
    puts("Usage: hybridmem profile mbi status [--json | --array] FOLDER\n"
         "\n"
         "Which runs of a plan are done, which failed and why, and how to run those that\n"
         "are not done.\n"
         "\n"
         "Options:\n"
         "  --array        print only the numbers of the runs that are not done, as sbatch\n"
         "                 --array takes them\n"
         "  --json         one JSON object\n"
         "  -h, --help     this text\n"
         "  -V, --version  the version\n"
         "\n"
         "Exit status: 0 all are done; 1 not all are, or the output cannot be written;\n"
         "2 wrong usage, or no plan.");
}

struct counts {
    size_t n, done, failed;
};

static struct counts count(const struct hm_mbi_store *store)
{
    struct counts counts = {.n = hm_mbi_plan_runs(&store->plan)};
    for (size_t i = 0; i < counts.n; i++) {
        counts.done += hm_mbi_store_is_done(store, i);
        counts.failed += store->is_there[i] && !hm_mbi_store_is_done(store, i);
    }
    return counts;
}

/* Writes the numbers of runs that are not done: "0,3-5". The caller frees the text; NULL: no memory. */
static char *list(const struct hm_mbi_store *store, size_t n)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    for (size_t first = 0, end; first < n; first = end + 1) {
        for (end = first; end < n && !hm_mbi_store_is_done(store, end);)
            end++;
        if (end == first)
            continue;
        fprintf(out, "%s%zu", ftell(out) > 0 ? "," : "", first);
        if (end - first > 1)
            fprintf(out, "-%zu", end - 1);
    }
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* What has its memory in the slow tier in this run. */
static const char *name_part(const struct hm_mbi_store *store, size_t number, char *out, size_t size)
{
    struct hm_mbi_run run = hm_mbi_plan_run(&store->plan, number);
    const struct hm_mbi_group *group = run.part == HM_MBI_GROUP ? &store->plan.group[run.group] : NULL;
    if (!group)
        snprintf(out, size, "%s", run.part == HM_MBI_NOTHING ? "nothing" : "all but the sites");
    else if (group->n == 1)
        snprintf(out, size, "site %016" PRIx64, group->id[0]);
    else
        snprintf(out, size, "%zu sites from %016" PRIx64 " on", group->n, group->id[0]);
    return out;
}

static int print_text(const struct hm_mbi_store *store, const struct counts *counts, const char *numbers)
{
    char part[80];
    printf("%zu %s: %zu done, %zu failed, %zu not run\n", counts->n, hm_plural(counts->n, "run", "runs"), counts->done,
           counts->failed, counts->n - counts->done - counts->failed);
    for (size_t i = 0; i < counts->n; i++)
        if (store->is_there[i] && !hm_mbi_store_is_done(store, i))
            printf("run %zu (%s) failed%s%s: %s\n", i, name_part(store, i, part, sizeof(part)),
                   store->result[i].node[0] ? " on " : "", store->result[i].node, store->result[i].reason);
    if (*numbers)
        printf("Go on with: sbatch --array=%s %s/job.sh\n"
               "or on this node: hybridmem profile mbi run %s\n",
               numbers, store->path, store->path);
    return 0;
}

static json_t *make_json(const struct hm_mbi_store *store, const struct counts *counts, const char *numbers)
{
    char part[80];
    json_t *failed = json_array();
    for (size_t i = 0; i < counts->n; i++)
        if (store->is_there[i] && !hm_mbi_store_is_done(store, i))
            json_array_append_new(failed,
                                  json_pack("{s:i, s:s, s:o, s:s}", "run", (int)i, "in_slow",
                                            name_part(store, i, part, sizeof(part)), "node",
                                            store->result[i].node[0] ? json_string(store->result[i].node) : json_null(),
                                            "reason", store->result[i].reason));
    return json_pack("{s:i, s:i, s:i, s:s, s:o}", "runs", (int)counts->n, "done", (int)counts->done, "not_run",
                     (int)(counts->n - counts->done - counts->failed), "array", numbers, "failed",
                     hm_figures_whole(failed, counts->failed));
}

int hm_mbi_status(int argc, char **argv)
{
    bool json = false, array = false;
    const struct hm_word table[] = {{"json", .flag = &json}, {"array", .flag = &array}};
    const struct hm_words words = {"profile mbi status", print_help, table, 2, NULL};
    struct hm_mbi_store store = {.path = ""};
    int status = hm_words_parse(argc, argv, &words), result = -1;
    if (status >= 0)
        return status;
    if (json && array)
        return hm_mbi_fail("status", HM_MBI_BAD, "--json and --array exclude each other: give one");
    status = hm_mbi_open(argc, argv, &words, &store);
    if (status == 0) {
        struct counts counts = count(&store);
        char *numbers = list(&store, counts.n);
        if (numbers && json)
            result = hm_figures_end(stdout, make_json(&store, &counts, numbers), JSON_INDENT(2));
        else if (numbers && array)
            result = puts(numbers);
        else if (numbers)
            result = print_text(&store, &counts, numbers);
        free(numbers);
        status = hm_output_end(NAME, result, counts.done == counts.n ? EXIT_SUCCESS : HM_MBI_FAILED);
    }
    hm_mbi_store_close(&store);
    return status;
}
