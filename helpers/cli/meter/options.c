/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>

#include "base/size.h"
#include "base/words.h"
#include "core/config/config.h"

#define DEFAULT_INTERVAL_MS 1000

static void print_help(void)
{
    printf("Usage: hybridmem meter [--json] [--interval TIME] [--count N] [--step]\n"
           "                       [--sysfs DIR] [--resctrl DIR]\n"
           "                       [--topology FILE.xml] [--config FILE]\n"
           "       hybridmem meter --list [--json] [--sysfs DIR] [--resctrl DIR]\n"
           "\n"
           "Shows the power of this node's sockets and memory and the traffic of its memory\n"
           "tiers, as far as hardware counters tell, each with the source it is from, or why\n"
           "it is not known. All are of the whole node, or of a resctrl group: no figure is\n"
           "a job's.\n"
           "\n"
           "  --list               each source of counters: whether it works for you, and\n"
           "                       why not; and end\n"
           "  --json               one JSON object for each interval, or for the list\n"
           "  --interval TIME      time between two lines (1s): digits and ms, s, min or h;\n"
           "                       without a unit seconds\n"
           "  --count N            end after N lines\n"
           "  --step               show a line for each line of standard input, not by time;\n"
           "                       the first has no figures, as measuring begins with it\n"
           "  --sysfs DIR          read counters from this folder instead of /sys\n"
           "  --resctrl DIR        the folder of a resctrl group (default: fs/resctrl in\n"
           "                       /sys)\n"
           "  --topology FILE.xml  take the tiers from hwloc's XML instead of this machine\n"
           "  --config FILE        the configuration, for the tiers (default:\n"
           "                       %s, where it is there)\n"
           "  -h, --help           this text\n"
           "  -V, --version        the version\n"
           "\n"
           "Exit status: 0 shown, or interrupted; 1 no source works here, or the output\n"
           "cannot be written; 2 wrong usage or a file that cannot be used.\n",
           hm_config_path());
}

/* A number without a unit is seconds. */
static int take_interval(void *data, const char *argument, struct hm_error *error)
{
    struct hm_meter_options *options = data;
    bool is_plain = hm_size_parse_number(argument, 1, 3600, &options->interval_ms, NULL) == 0;
    if (is_plain)
        options->interval_ms *= 1000;
    else if (hm_size_parse_duration(argument, &options->interval_ms, NULL) != 0)
        options->interval_ms = 0;
    if (options->interval_ms >= 100 && options->interval_ms <= 3600000)
        return 0;
    return hm_fail(error, EINVAL, "\"%.40s\" is not a time of 100ms to 1h", argument);
}

static int take_count(void *data, const char *argument, struct hm_error *error)
{
    struct hm_meter_options *options = data;
    return hm_size_parse_number(argument, 1, UINT32_MAX, &options->count, error);
}

/*
 * Checks the options of --list, which shows the sources alone: nothing over time, and no tiers. Returns -1 to go on, or
 * the exit status.
 */
static int check_list(const struct hm_meter_options *options)
{
    const struct {
        const char *name;
        bool is_given;
    } others[] = {{"interval", options->interval_ms > 0},
                  {"count", options->count > 0},
                  {"step", options->step},
                  {"topology", options->topology},
                  {"config", options->config}};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (others[i].is_given) {
            fprintf(stderr, "hybridmem meter: --list does not go with --%s\n", others[i].name);
            return HM_WORDS_BAD;
        }
    return -1;
}

int hm_meter_parse(int argc, char **argv, struct hm_meter_options *options)
{
    const struct hm_word table[] = {
        {"list", .flag = &options->list},       {"json", .flag = &options->json},
        {"step", .flag = &options->step},       {"interval", .take = take_interval},
        {"count", .take = take_count},          {"sysfs", .path = &options->sysfs},
        {"resctrl", .path = &options->resctrl}, {"topology", .path = &options->topology},
        {"config", .path = &options->config},
    };
    const struct hm_words words = {"meter", print_help, table, sizeof(table) / sizeof(table[0]), options};
    int status = hm_words_parse(argc, argv, &words);
    if (status < 0 && optind < argc)
        status = hm_words_refuse(&words, argv[optind]);
    if (status < 0 && options->list)
        status = check_list(options);
    if (options->interval_ms == 0)
        options->interval_ms = DEFAULT_INTERVAL_MS;
    return status;
}
