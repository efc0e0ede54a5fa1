/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hybridmem-memmode: the program that Slurm's node_features/helpers asks which mode the memory of this node is in, and
 * tells which mode to take at the next boot; and `hybridmem memmode`, which shows the state to people.
 *
 *       hybridmem-memmode                   print the active feature
 *       hybridmem-memmode memmode=cache     take this one at the next boot
 *       hybridmem-memmode --check           after a boot: is it the one that was asked for?
 *       hybridmem-memmode --reboot FEATURES reboot into these, for RebootProgram (hybridmem-reboot)
 *       hybridmem-memmode memmode [--json]  show the state
 */
#include <config.h>

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "base/output.h"
#include "base/words.h"
#include "parts.h"

#define NAME "hybridmem memmode"
#define SHOW "memmode" /* the word that `hybridmem` puts first */

struct options {
    bool shows, json, checks, reboots;
    const char *config, *ipmctl;
    const char *node;    /* NULL: Slurm is asked for it */
    const char *feature; /* NULL: none was given */
};

static void print_help(void)
{
    printf("Usage: hybridmem memmode [--json] [--config FILE] [--ipmctl FILE]\n"
           "       hybridmem-memmode [--node NAME] [--config FILE] [--ipmctl FILE] [FEATURE]\n"
           "       hybridmem-memmode --check [--node NAME] [--config FILE] [--ipmctl FILE]\n"
           "       hybridmem-memmode --reboot [--config FILE] [--ipmctl FILE] [FEATURES]\n"
           "\n"
           "Shows how this node uses its Optane memory, or by Redfish which mode its BIOS\n"
           "has set, what is pending for its next boot, and what prevents another mode. In\n"
           "the second form it is the program that helpers.conf names for Slurm: without\n"
           "FEATURE it prints the active one, with memmode=flat, memmode=cache or\n"
           "memmode=mixed it sets the goal for the next boot.\n"
           "\n"
           "  --json         one JSON object\n"
           "  --check        after a boot: drain the node if it is not in the mode that\n"
           "                 Slurm had asked for; systemd runs it before slurmd\n"
           "  --reboot       reboot, unless the mode in FEATURES, a list with commas, would\n"
           "                 not come, or somebody would lose data; hybridmem-reboot is\n"
           "                 this, as a RebootProgram for slurm.conf\n"
           "  --node NAME    Slurm's name of this node (default: what Slurm says)\n"
           "  --config FILE  the configuration, for run_dir, state_dir, redfish and boards\n"
           "                 (default: %s, where it is there)\n"
           "  --ipmctl FILE  the program ipmctl (default: " HM_IPMCTL ")\n"
           "  -h, --help     this text\n"
           "  -V, --version  the version\n"
           "\n"
           "Exit status: 0 done; 1 refused or failed; 2 wrong usage, or a user other than\n"
           "root; 3 a hybridmem-namespace is at work; 4 the node is drained; 5 failed, and\n"
           "a goal is left.\n",
           hm_config_path());
}

/* Do these options go together? Returns -1 to go on, or the exit status. */
static int check_options(const struct options *options)
{
    const char *wrong = NULL;
    if (options->json && !options->shows)
        wrong = "--json is for 'hybridmem memmode': Slurm's helper prints a feature";
    else if ((options->checks || options->reboots) && options->shows)
        wrong = "--check and --reboot are for 'hybridmem-memmode', without the word memmode";
    else if (options->checks && options->reboots)
        wrong = "--check and --reboot do not go together";
    else if (options->node && !options->checks && !options->feature)
        wrong = "--node is for --check, and beside FEATURE";
    if (!wrong)
        return -1;
    fprintf(stderr, NAME ": %s\n", wrong);
    return HM_WORDS_BAD;
}

/* Returns -1 to go on, or the exit status. */
static int parse_options(int argc, char **argv, struct options *options)
{
    const struct hm_word table[] = {{"json", .flag = &options->json},      {"check", .flag = &options->checks},
                                    {"reboot", .flag = &options->reboots}, {"node", .text = &options->node},
                                    {"config", .path = &options->config},  {"ipmctl", .path = &options->ipmctl}};
    const struct hm_words words = {"memmode", print_help, table, sizeof(table) / sizeof(table[0]), NULL};
    options->shows = argc > 1 && strcmp(argv[1], SHOW) == 0;
    if (options->shows) {
        argc--;
        argv++;
    }
    int status = hm_words_parse(argc, argv, &words);
    if (status >= 0)
        return status;
    if (!options->shows && !options->checks && optind < argc)
        options->feature = argv[optind++];
    if (optind < argc)
        return hm_words_refuse(&words, argv[optind]);
    return check_options(options);
}

static int show(const struct hm_hardware *hardware, bool as_json, struct hm_error *error)
{
    struct hm_memmode_state state;
    if (hm_memmode_read(hardware, &state, error) != 0)
        return HM_MEMMODE_EXIT_REFUSED;
    return hm_output_end(NAME, hm_memmode_print(&state, as_json), HM_MEMMODE_EXIT_DONE);
}

static int print_feature(const struct hm_hardware *hardware, struct hm_error *error)
{
    struct hm_memmode_state state;
    if (hm_memmode_read_now(hardware, &state, error) != 0)
        return HM_MEMMODE_EXIT_REFUSED;
    if (hm_memmode_now(&state) == HM_MEMMODE_NONE) {
        hm_fail(error, ENODEV, "this node has no persistent memory modules");
        return HM_MEMMODE_EXIT_REFUSED;
    }
    return hm_output_end(NAME, printf(HM_MEMMODE_FEATURE "%s\n", hm_memmode_word(hm_memmode_now(&state))),
                         HM_MEMMODE_EXIT_DONE);
}

static bool is_helper(const struct options *options)
{
    return !options->shows && !options->checks && !options->reboots;
}

/* slurmd drops what a helper says that fails. And where one does not fail, it takes each line for a feature, also on
 * standard error. So the line is in the system's log. */
static void log_for_slurmd(const struct hm_error *error)
{
    syslog(LOG_DAEMON | LOG_ERR, "%s", error->text);
}

/* The configuration has the mistake `error`. It takes the feature from no node whose modules tell it: Slurm would empty
 * and boot that node for the next job that wants this feature. */
static int print_without_config(const struct hm_hardware *hardware, struct hm_error *error)
{
    struct hm_error why;
    if (print_feature(hardware, &why) != HM_MEMMODE_EXIT_DONE)
        return HM_MEMMODE_EXIT_REFUSED;
    log_for_slurmd(error);
    error->text[0] = '\0';
    return HM_MEMMODE_EXIT_DONE;
}

/* What is done where the configuration has the mistake `error`. */
static int run_without_config(const struct options *options, const struct hm_hardware *hardware, struct hm_error *error)
{
    if (options->reboots) {
        log_for_slurmd(error);
        return hm_memmode_reboot_without_config(hardware, hardware->config, options->feature ? options->feature : "",
                                                error);
    }
    return is_helper(options) && !options->feature ? print_without_config(hardware, error) : HM_MEMMODE_EXIT_REFUSED;
}

/* Slurm takes the node for one in the new mode since it has asked for that. Where slurmd then reports the old one,
 * slurmctld drains the node, and only a new start of slurmd brings it back. This is not done to a node without a fault:
 * slurmctld is told first which mode it is in. Nor is the job to come back here soon. */
static void excuse(const char *given, const struct hm_memmode_state *state, enum hm_memmode wanted)
{
    struct hm_error why = {{0}};
    char node[HM_MEMMODE_NAME];
    const char *reason = hm_memmode_only_for_now(state, wanted);
    if (!reason)
        return;
    if (hm_memmode_name(given, node, &why) != 0 || hm_memmode_tell(node, state, &why) != 0 ||
        hm_memmode_withdraw(node, wanted, state, &why) != 0 || hm_memmode_note_job(node, wanted, reason, &why) != 0)
        log_for_slurmd(&why);
}

static int change(const struct hm_hardware *hardware, const struct options *options, const struct hm_config *config,
                  enum hm_memmode wanted, struct hm_error *error)
{
    struct hm_memmode_state state;
    int status = hm_memmode_change(hardware, config, wanted, &state, error);
    if (status == HM_MEMMODE_EXIT_REFUSED || status == HM_MEMMODE_EXIT_BUSY)
        excuse(options->node, &state, wanted);
    return status;
}

static int run(const struct options *options, struct hm_error *error)
{
    static struct hm_config config;
    struct hm_hardware hardware = {&hm_backend_ipmctl, options->ipmctl, &config};
    enum hm_memmode wanted = HM_MEMMODE_NONE;
    if (options->node && hm_memmode_check_name(options->node, error) != 0)
        return HM_MEMMODE_EXIT_USAGE;
    if (!options->reboots && options->feature && hm_memmode_parse(options->feature, &wanted, error) != 0)
        return HM_MEMMODE_EXIT_USAGE;
    if (hm_config_read(options->config ? options->config : hm_config_path(), options->config != NULL, &config, error) !=
        0)
        return run_without_config(options, &hardware, error);
    if (config.redfish.url[0])
        hardware.backend = &hm_backend_redfish;
    if (options->shows)
        return show(&hardware, options->json, error);
    if (options->checks)
        return hm_memmode_check(&hardware, &config, options->node, error);
    if (options->reboots)
        return hm_memmode_reboot(&hardware, &config, options->feature ? options->feature : "", error);
    return options->feature ? change(&hardware, options, &config, wanted, error) : print_feature(&hardware, error);
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
    status = run(&options, &error);
    if (error.text[0])
        fprintf(stderr, NAME ": %s\n", error.text);
    if (error.text[0] && is_helper(&options))
        log_for_slurmd(&error);
    return status;
}
