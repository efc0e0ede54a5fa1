/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hybridmem-sources: shows which sources of samples work on this node for the caller, and why the others do not. Each
 * source is opened as the migrator opens it, and closed again.
 */
#include <config.h>

#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "base/words.h"
#include "cli/draw/figures.h"
#include "core/config/config.h"
#include "migrator/damon/wire.h"
#include "migrator/sources/rows.h"
#include "migrator/sources/source.h"

#define FACT_COLUMN 11
#define AUTO "source=auto takes"
#define AUTO_COLUMN (int)sizeof(AUTO)

enum { EXIT_NONE = 1, EXIT_BAD = HM_WORDS_BAD };

struct options {
    bool json;
    const char *config;
};

/* The result of opening a source. */
struct tried {
    const struct hm_source_row *row;
    bool is_usable;
    char reason[HM_ERROR_TEXT]; /* why it does not work */
    bool lacks_broker;          /* the broker's socket is missing, as is normal on a node without jobs that need it */
    bool is_roots;              /* only rights are missing, and in a step root opens it for the migrator */
    struct hm_source_state state;
};

static void print_help(void)
{
    printf("Usage: hybridmem sources [--json] [--config FILE]\n"
           "\n"
           "Shows where the migrator of --hybrid-mem=isolate and migrate can take its\n"
           "samples from on this node, best first: whether each source works for you, and\n"
           "why not. source=auto takes the first that works. A source that is free now may\n"
           "be in use when your job runs.\n"
           "\n"
           "  --json         one JSON object: \"sources\" (an array, best first), \"auto\" and\n"
           "                 \"auto_in_step\" (a name, or null)\n"
           "  --config FILE  the configuration, for the folder of the DAMON broker's socket\n"
           "                 (default: %s, where it is there)\n"
           "  -h, --help     this text\n"
           "  -V, --version  the version\n"
           "\n"
           "Exit status: 0 at least one works, 1 none does, or the output cannot be\n"
           "written, 2 wrong usage or a file that cannot be used.\n",
           hm_config_path());
}

/* Returns -1 to go on, or the exit status. */
static int parse_options(int argc, char **argv, struct options *options)
{
    const struct hm_word table[] = {{"json", .flag = &options->json}, {"config", .path = &options->config}};
    const struct hm_words words = {"sources", print_help, table, 2, NULL};
    int status = hm_words_parse(argc, argv, &words);
    return status < 0 && optind < argc ? hm_words_refuse(&words, argv[optind]) : status;
}

static void try_source(const struct hm_source_row *row, const struct hm_source_setup *setup, struct tried *tried)
{
    struct hm_error error = {""};
    struct hm_source *source = row->open(setup, &error);
    bool lacks_rights = !source && errno == EACCES;
    *tried = (struct tried){.row = row, .is_usable = source != NULL, .is_roots = lacks_rights && row->prepare};
    snprintf(tried->reason, sizeof(tried->reason), "%s", error.text);
    tried->lacks_broker =
        !source && hm_sampling_has(row->name, HM_SAMPLING_BROKER) && access(setup->broker, F_OK) < 0 && errno == ENOENT;
    if (source) {
        tried->state = source->state;
        source->close(source);
    }
}

/* The name of the first source that works for the caller, or for the migrator of a step of his. NULL: none does. */
static const char *choose(const struct tried *tried, int n, bool is_step)
{
    for (int i = 0; i < n; i++)
        if (tried[i].is_usable || (is_step && tried[i].is_roots))
            return tried[i].row->name;
    return NULL;
}

static void put_fact(size_t columns, const char *label, const char *text)
{
    hm_words_put_row(stdout, columns, FACT_COLUMN, text, "  %s", label);
}

#define NO_BROKER "none while no broker runs: see damon, above"

/* Says what source=auto takes: here, and in a step where that is another one. `none` says it where nothing works. */
static void put_choice(const struct tried *tried, int n, const char *none, size_t columns)
{
    const char *here = choose(tried, n, false), *in_step = choose(tried, n, true);
    char text[96];
    if (in_step == here)
        snprintf(text, sizeof(text), "%s", here ? here : none);
    else
        snprintf(text, sizeof(text), "%s in a step of isolate or migrate, by root; without root %s", in_step,
                 here ? here : "none");
    hm_words_put_row(stdout, columns, AUTO_COLUMN, text, AUTO);
}

/* Breaks lines at `columns`; 0: does not break them. */
static void print_text(const struct tried *tried, int n, size_t columns)
{
    const char *none = "none: nothing would be moved";
    for (int i = 0; i < n; i++) {
        printf("%-8s %s\n", tried[i].row->name, tried[i].is_usable ? "works here" : "does not work here");
        if (!tried[i].is_usable)
            put_fact(columns, "because", tried[i].reason);
        if (tried[i].is_roots)
            put_fact(columns, "but", "root opens it for the migrator of a step: there it needs no rights of yours");
        if (tried[i].lacks_broker && strcmp(none, NO_BROKER) != 0) {
            put_fact(columns, "but", "the broker runs beside jobs of isolate and migrate only; to look inside one:");
            printf("%*ssrun --hybrid-mem=migrate hybridmem sources\n", FACT_COLUMN, "");
            none = NO_BROKER;
        }
        if (tried[i].state.how[0])
            put_fact(columns, "watches", tried[i].state.how);
        put_fact(columns, "knows", tried[i].row->knows);
        put_fact(columns, "needs", tried[i].row->needs);
        put_fact(columns, "costs", tried[i].row->cost);
    }
    putchar('\n');
    put_choice(tried, n, none, columns);
}

static int print_json(const struct tried *tried, int n)
{
    json_t *array = json_array();
    for (int i = 0; i < n; i++) {
        const struct hm_source_row *row = tried[i].row;
        const struct hm_source_state *state = &tried[i].state;
        bool works = tried[i].is_usable;
        json_array_append_new(array, json_pack("{s:s, s:b, s:o, s:o, s:o, s:s, s:s, s:s}", "name", row->name, "usable",
                                               (int)works, "reason", works ? json_null() : json_string(tried[i].reason),
                                               "how", works && state->how[0] ? json_string(state->how) : json_null(),
                                               "knows_writes", works ? json_boolean(state->knows_writes) : json_null(),
                                               "knows", row->knows, "needs", row->needs, "cost", row->cost));
    }
    json_t *all = json_pack("{s:o, s:s?, s:s?}", "sources", hm_figures_whole(array, (size_t)n), "auto",
                            choose(tried, n, false), "auto_in_step", choose(tried, n, true));
    return hm_figures_end(stdout, all, JSON_INDENT(2));
}

static int show(const struct options *options, struct hm_config *config)
{
    struct hm_error error = {""};
    struct tried tried[HM_SOURCES];
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    /* The defaults of the migrator. */
    struct hm_source_setup setup = {
        .overhead = 0.01, .n_cpus = cpus > 0 ? (unsigned)cpus : 1, .interval_ms = 10000, .stop = -1};
    int n = 0, result = 0;

    if (hm_config_read(options->config ? options->config : hm_config_path(), options->config != NULL, config, &error) <
        0) {
        fprintf(stderr, "hybridmem sources: %s\n", error.text);
        return EXIT_BAD;
    }
    if ((size_t)snprintf(setup.broker, sizeof(setup.broker), "%s/%s", config->run_dir, HM_DAMON_SOCKET) >=
        sizeof(setup.broker))
        setup.broker[0] = '\0';
    for (; n < HM_SOURCES; n++)
        try_source(hm_source_at(n), &setup, &tried[n]);
    if (!options->json)
        print_text(tried, n, hm_words_columns(stdout));
    else
        result = print_json(tried, n);
    return hm_output_end("hybridmem sources", result, choose(tried, n, true) ? EXIT_SUCCESS : EXIT_NONE);
}

int main(int argc, char **argv)
{
    struct options options = {0};
    int status = parse_options(argc, argv, &options);

    if (status >= 0)
        return status;
    struct hm_config *config = calloc(1, sizeof(*config));
    if (config) {
        status = show(&options, config);
    } else {
        perror("hybridmem sources");
        status = EXIT_BAD;
    }
    free(config);
    return status;
}
