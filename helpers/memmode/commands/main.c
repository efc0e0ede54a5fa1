/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hybridmem-memmode: the program that Slurm's node_features/helpers asks which mode the persistent memory of this node
 * is in, and tells which mode to take at the next boot; and `hybridmem memmode`, which shows the state to people.
 *
 *       hybridmem-memmode                   print the active feature
 *       hybridmem-memmode memmode=cache     take this one at the next boot
 *       hybridmem-memmode memmode [--json]  show the state
 */
#include <config.h>

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "base/words.h"
#include "memmode/ipmctl/ipmctl.h"
#include "parts.h"

#define NAME "hybridmem memmode"
#define SHOW "memmode" /* the word that `hybridmem` puts first */

struct options {
    bool shows, json;
    const char *config, *ipmctl;
    const char *feature; /* NULL: print the active one */
};

static void print_help(void)
{
    printf("Usage: hybridmem memmode [--json] [--config FILE] [--ipmctl FILE]\n"
           "       hybridmem-memmode [--config FILE] [--ipmctl FILE] [FEATURE]\n"
           "\n"
           "Shows how this node uses its Optane memory, what is pending for its next boot,\n"
           "and what prevents another mode. In the second form it is the program that\n"
           "helpers.conf names for Slurm: without FEATURE it prints the active one, with\n"
           "memmode=flat or memmode=cache it sets the goal for the next boot.\n"
           "\n"
           "  --json         one JSON object\n"
           "  --config FILE  the configuration, for the folder of the lock of namespaces\n"
           "                 (default: %s, where it is there)\n"
           "  --ipmctl FILE  the program ipmctl (default: " HM_IPMCTL ")\n"
           "  -h, --help     this text\n"
           "  -V, --version  the version\n"
           "\n"
           "Exit status: 0 done; 1 refused or failed; 2 wrong usage, or a user other than\n"
           "root; 3 a hybridmem-namespace is at work; 5 failed, and a goal is left.\n",
           hm_config_path());
}

/* Returns -1 to go on, or the exit status. */
static int parse_options(int argc, char **argv, struct options *options)
{
    const struct hm_word table[] = {
        {"json", .flag = &options->json}, {"config", .path = &options->config}, {"ipmctl", .path = &options->ipmctl}};
    const struct hm_words words = {"memmode", print_help, table, 3, NULL};
    options->shows = argc > 1 && strcmp(argv[1], SHOW) == 0;
    if (options->shows) {
        argc--;
        argv++;
    }
    int status = hm_words_parse(argc, argv, &words);
    if (status >= 0)
        return status;
    if (!options->shows && optind < argc)
        options->feature = argv[optind++];
    if (optind < argc)
        return hm_words_refuse(&words, argv[optind]);
    if (options->json && !options->shows) {
        fputs(NAME ": --json is for 'hybridmem memmode': Slurm's helper prints a feature\n", stderr);
        return HM_WORDS_BAD;
    }
    return -1;
}

static int show(const struct options *options, struct hm_error *error)
{
    struct hm_memmode_state state;
    if (hm_memmode_read(options->ipmctl, &state, error) != 0)
        return HM_MEMMODE_EXIT_REFUSED;
    return hm_output_end(NAME, hm_memmode_print(&state, options->json), HM_MEMMODE_EXIT_DONE);
}

static int print_feature(const struct options *options, struct hm_error *error)
{
    struct hm_memmode_resources resources;
    if (hm_memmode_read_resources(options->ipmctl, &resources, error) != 0)
        return HM_MEMMODE_EXIT_REFUSED;
    if (resources.physical == 0) {
        hm_fail(error, ENODEV, "this node has no persistent memory modules");
        return HM_MEMMODE_EXIT_REFUSED;
    }
    return hm_output_end(NAME, printf(HM_MEMMODE_FEATURE "%s\n", hm_memmode_word(hm_memmode_now(&resources))),
                         HM_MEMMODE_EXIT_DONE);
}

static int change(const struct options *options, struct hm_error *error)
{
    static struct hm_config config;
    const char *path = options->config ? options->config : hm_config_path();
    enum hm_memmode wanted;
    if (hm_memmode_parse(options->feature, &wanted, error) != 0)
        return HM_MEMMODE_EXIT_USAGE;
    if (hm_config_read(path, options->config != NULL, &config, error) != 0)
        return HM_MEMMODE_EXIT_REFUSED;
    return hm_memmode_change(options->ipmctl, &config, wanted, error);
}

int main(int argc, char **argv)
{
    struct options options = {.ipmctl = HM_IPMCTL};
    struct hm_error error = {{0}};
    int status = parse_options(argc, argv, &options);
    if (status >= 0)
        return status;
    if (geteuid() != 0) {
        fputs(NAME ": only root may run this\n", stderr);
        return HM_MEMMODE_EXIT_USAGE;
    }
    if (options.shows)
        status = show(&options, &error);
    else
        status = options.feature ? change(&options, &error) : print_feature(&options, &error);
    if (error.text[0])
        fprintf(stderr, NAME ": %s\n", error.text);
    return status;
}
