/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hybridmem-config: shows the effective configuration, or checks it together with the settings of the site that
 * hybridmem needs.
 */
#include <config.h>

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/output.h"
#include "base/words.h"
#include "parts.h"

enum { EXIT_CHANGES = 1, EXIT_BAD = HM_WORDS_BAD };

struct options {
    const char *command, *config, *scontrol;
    bool file_only;
};

static void print_help(void)
{
    printf("Usage: hybridmem config check [--file-only] [--config FILE] [--scontrol FILE]\n"
           "       hybridmem config show [--config FILE]\n"
           "\n"
           "check looks at the configuration, its folders, users, groups and tiers, and at\n"
           "what hybridmem wants of Slurm. It lists what is as it should be (ok), what is\n"
           "not, with what to do (change), and what may be intended (note). Run it on a\n"
           "compute node.\n"
           "show prints the values in use, in the syntax of the file.\n"
           "\n"
           "  --config FILE    instead of %s\n"
           "  --file-only      check nothing but the file\n"
           "  --scontrol FILE  Slurm's scontrol, where it is not in a usual place\n"
           "  -h, --help       this text\n"
           "  -V, --version    the version\n"
           "\n"
           "Exit status: 0 all is well, 1 something is to be changed, or the output cannot\n"
           "be written, 2 wrong usage; show: 2 for a wrong file.\n",
           hm_config_path());
}

/* Returns -1 to go on, or the exit status. */
static int parse_options(int argc, char **argv, struct options *options)
{
    const struct hm_word table[] = {{"config", .path = &options->config},
                                    {"file-only", .flag = &options->file_only},
                                    {"scontrol", .path = &options->scontrol}};
    const struct hm_words words = {"config", print_help, table, 3, NULL};
    int status = hm_words_parse(argc, argv, &words);
    if (status >= 0)
        return status;
    options->command = optind < argc ? argv[optind] : "";
    bool is_show = strcmp(options->command, "show") == 0;
    if (optind < argc && !is_show && strcmp(options->command, "check") != 0)
        return hm_words_refuse(&words, options->command);
    if (optind + 1 < argc)
        return hm_words_refuse(&words, argv[optind + 1]);
    if (optind == argc) {
        fputs("hybridmem config: say what to do, check or show. Try 'hybridmem config --help'.\n", stderr);
        return EXIT_BAD;
    }
    if (is_show && (options->file_only || options->scontrol)) {
        fputs("hybridmem config: --file-only and --scontrol belong to check. Try 'hybridmem config --help'.\n", stderr);
        return EXIT_BAD;
    }
    return -1;
}

/* Reports settings that are valid in form but can only be a mistake. Returns whether there are none. */
static bool check_defaults(const char *path, const struct hm_config *config, struct hm_report *report)
{
    bool is_well = true;
    for (int i = 0; i < config->n_rules; i++) {
        const struct hm_config_rule *rule = &config->rule[i];
        if (hm_config_default_is_allowed(rule))
            continue;
        is_well = false;
        hm_report_change(report,
                         "%s:%d: partition \"%s\": default_mode: \"%s\" is not among the partition's own modes, and so "
                         "never used: add its mode to them, or name one of them",
                         path, rule->default_line, rule->name, rule->default_mode);
    }
    return is_well;
}

static int check(const struct options *options, const char *path, struct hm_config *config)
{
    struct hm_report report = {0};
    struct hm_error error = {""};
    struct hm_error missing = {""};
    /* An absent file is an error of the first call if the user named it, else of the second. */
    if (hm_config_read(path, options->config != NULL, config, &error) < 0)
        hm_report_change(&report, "%s", error.text);
    else if (hm_config_read(path, true, config, &missing) < 0)
        hm_report_ok(&report, "%s is not there: the built-in values are used", path);
    else if (check_defaults(path, config, &report))
        hm_report_ok(&report, "%s", path);
    /* If the file is invalid, the built-in values are used: what they name is checked all the same. */
    if (!options->file_only) {
        hm_config_check_node(config, path, &report);
        hm_config_check_slurm(config, path, options->scontrol, &report);
    }
    return report.n_changes ? EXIT_CHANGES : EXIT_SUCCESS;
}

static int show(const struct options *options, const char *path, struct hm_config *config)
{
    struct hm_error error = {""};
    if (hm_config_read(path, options->config != NULL, config, &error) < 0) {
        fprintf(stderr, "hybridmem config: %s\n", error.text);
        return EXIT_BAD;
    }
    hm_config_show(config);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    struct options options = {0};
    int status = parse_options(argc, argv, &options);
    if (status >= 0)
        return status;
    const char *path = options.config ? options.config : hm_config_path();
    struct hm_config *config = calloc(1, sizeof(*config));
    if (!config) {
        perror("hybridmem config");
        return EXIT_BAD;
    }
    status = strcmp(options.command, "show") == 0 ? show(&options, path, config) : check(&options, path, config);
    free(config);
    return hm_output_end("hybridmem config", 0, status);
}
