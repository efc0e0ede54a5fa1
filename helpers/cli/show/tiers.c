/* SPDX-License-Identifier: Apache-2.0 */
/* hybridmem-tiers: shows the memory tiers of this node, or of a node described by hwloc's XML. */
#include <config.h>

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/output.h"
#include "base/words.h"
#include "core/config/config.h"
#include "core/topology/discover.h"
#include "tiersprint.h"

enum { EXIT_BAD = HM_WORDS_BAD, EXIT_NO_TIERS = 3 };

static void print_help(void)
{
    printf("Usage: hybridmem tiers [--json] [--topology FILE.xml] [--config FILE]\n"
           "\n"
           "Shows the memory tiers of this node, fastest first: name, kind (dram, pmem, cxl,\n"
           "hbm), NUMA nodes, sockets, capacity and free memory, read latency of the nearest\n"
           "CPUs, read bandwidth of the whole tier, and after each number, in parentheses,\n"
           "where it is from. `--hybrid-mem=fast` means the first tier, `slow` the last.\n"
           "\n"
           "  --json               one JSON object: \"tiers\" (an array, fastest first) and\n"
           "                       \"warnings\"; what is not known is null\n"
           "  --topology FILE.xml  read hwloc's XML instead of this machine; `lstopo\n"
           "                       --disallowed FILE.xml` writes one (free memory, movable\n"
           "                       memory and sysfs memory tiers are not in it)\n"
           "  --config FILE        the configuration whose tiers and figures override what\n"
           "                       is found (default: %s, where\n"
           "                       it is there)\n"
           "  -h, --help           this text\n"
           "  -V, --version        the version\n"
           "\n"
           "Where a number is from: hybridmem.conf; hmat (the firmware's figures, by\n"
           "hwloc); sysfs (the kernel); distance (NUMA distance, or whether a node has\n"
           "CPUs); hwloc (counted or named by hwloc).\n"
           "\n"
           "Exit status: 0 shown, 1 the output cannot be written, 2 wrong usage or a file\n"
           "that cannot be used, 3 no NUMA node with memory may be used.\n",
           hm_config_path());
}

struct options {
    bool json;
    const char *topology;
    const char *config;
};

/* Returns -1 to go on, or the exit status. */
static int parse_options(int argc, char **argv, struct options *options)
{
    const struct hm_word table[] = {{"json", .flag = &options->json},
                                    {"topology", .path = &options->topology},
                                    {"config", .path = &options->config}};
    const struct hm_words words = {"tiers", print_help, table, 3, NULL};
    int status = hm_words_parse(argc, argv, &words);
    return status < 0 && optind < argc ? hm_words_refuse(&words, argv[optind]) : status;
}

static int show(const struct options *options, struct hm_config *config, struct hm_tiers *tiers)
{
    struct hm_error error = {""};
    const char *path = options->config ? options->config : hm_config_path();
    int status = EXIT_SUCCESS, result = 0;

    if (hm_config_read(path, options->config != NULL, config, &error) < 0 ||
        hm_discover(options->topology, &tiers->topology, &error) < 0)
        status = EXIT_BAD;
    else if (hm_tiers_group(&tiers->topology, config, tiers, &error) < 0)
        status = errno == ENODEV ? EXIT_NO_TIERS : EXIT_BAD;
    if (status != EXIT_SUCCESS) {
        fprintf(stderr, "hybridmem tiers: %s\n", error.text);
        return status;
    }
    if (!options->json)
        hm_tiersprint_table(tiers);
    else
        result = hm_tiersprint_json(tiers);
    return hm_output_end("hybridmem tiers", result, EXIT_SUCCESS);
}

int main(int argc, char **argv)
{
    struct options options = {0};
    int status = parse_options(argc, argv, &options);

    if (status >= 0)
        return status;
    struct hm_config *config = calloc(1, sizeof(*config));
    struct hm_tiers *tiers = calloc(1, sizeof(*tiers));
    if (config && tiers) {
        status = show(&options, config, tiers);
    } else {
        perror("hybridmem tiers");
        status = EXIT_BAD;
    }
    free(tiers);
    free(config);
    return status;
}
