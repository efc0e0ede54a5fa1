/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hybridmem-plan: shows what a request would do on this node, or on a node described by hwloc's XML, without doing it.
 */
#include <config.h>

#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/output.h"
#include "base/size.h"
#include "base/words.h"
#include "core/apply/loadfile.h"
#include "core/apply/policy.h"
#include "core/config/config.h"
#include "core/topology/discover.h"
#include "core/topology/regions.h"
#include "modesprint.h"
#include "planprint.h"

enum { EXIT_BAD = HM_WORDS_BAD, EXIT_UNSERVED = 3 };

struct options {
    const char *request, *topology, *config, *cpus, *size, *kernel;
    bool json, alone, shared, modes;
};

struct work { /* too large for the stack */
    struct hm_config config;
    struct hm_tiers tiers;
    struct hm_plan plan;
    struct hm_where where;
};

static void print_help(void)
{
    printf("Usage: hybridmem plan REQUEST [OPTION]...\n"
           "       hybridmem plan --modes [--json]\n"
           "\n"
           "Shows what sbatch --hybrid-mem=REQUEST would do on this node, and why, without\n"
           "doing it.\n"
           "\n"
           "REQUEST: ");
    hm_modesprint_help();
    printf("\n"
           "  --modes              the modes, the keys that each takes, and what it wants\n"
           "                       of the node; nothing is planned\n"
           "  --topology FILE.xml  plan for the node that hwloc's XML describes\n"
           "  --config FILE        instead of %s\n"
           "  --cpus LIST          the task's CPUs, as in 0-3,8 (default: those of this\n"
           "                       process)\n"
           "  --size BYTES         how much memory the job uses: digits and K, M, G or T\n"
           "  --alone, --shared    whether the job has the node alone (default: shared)\n"
           "  --kernel VERSION     plan for this Linux version, as in 6.12 (default: the\n"
           "                       running kernel)\n"
           "  --json               one JSON object: mode, policy, nodes, weights,\n"
           "                       weights_auto, reason, warnings,\n"
           "                       predicted_bandwidth_mbs, reserve_bytes, migration,\n"
           "                       fsdax, side_cache_bytes; weights, weights_auto,\n"
           "                       predicted_bandwidth_mbs, migration, fsdax and\n"
           "                       side_cache_bytes are null where there are none\n"
           "  -h, --help           this text\n"
           "  -V, --version        the version\n"
           "\n"
           "Exit status: 0 shown, 1 the output cannot be written, 2 a bad request, wrong\n"
           "usage or a file that cannot be used, 3 this node cannot serve the request.\n",
           hm_config_path());
}

static int fail(const char *text)
{
    fprintf(stderr, "hybridmem plan: %s\n", text);
    return EXIT_BAD;
}

/* Returns -1 to go on, or the exit status. */
static int parse_options(int argc, char **argv, struct options *options)
{
    const struct hm_word table[] = {
        {"topology", .path = &options->topology}, {"config", .path = &options->config},
        {"cpus", .text = &options->cpus},         {"size", .text = &options->size},
        {"kernel", .text = &options->kernel},     {"alone", .flag = &options->alone},
        {"shared", .flag = &options->shared},     {"json", .flag = &options->json},
        {"modes", .flag = &options->modes},
    };
    const struct hm_words words = {"plan", print_help, table, sizeof(table) / sizeof(table[0]), NULL};
    int status = hm_words_parse(argc, argv, &words);
    if (status >= 0)
        return status;
    if (options->modes && optind == argc)
        return -1;
    if (options->modes)
        return fail("--modes takes no request: give one or the other");
    if (optind + 1 != argc)
        return fail(optind == argc ? "the request is missing: give one, as in: hybridmem plan spill"
                                   : "there is more than one request: write MODE or MODE,KEY=VALUE as one word");
    if (options->alone && options->shared)
        return fail("--alone and --shared exclude each other: give one");
    options->request = argv[optind];
    return -1;
}

static int read_own_cpus(struct hm_set *cpus, struct hm_error *error)
{
    cpu_set_t *mask = CPU_ALLOC(HM_SET_BITS);
    size_t size = CPU_ALLOC_SIZE(HM_SET_BITS);
    int status = -1;
    hm_set_clear(cpus);
    if (!mask || sched_getaffinity(0, size, mask) < 0) {
        hm_fail_errno(error, "this process's CPUs cannot be read");
    } else {
        for (unsigned cpu = 0; cpu < HM_SET_BITS; cpu++)
            if (CPU_ISSET_S(cpu, size, mask))
                hm_set_add(cpus, cpu);
        status = 0;
    }
    CPU_FREE(mask);
    return status;
}

/*
 * Chooses the task's CPUs: those of --cpus, else this process's. If the topology is of another machine that has none of
 * this process's CPUs, the task is taken to have all CPUs of that machine.
 */
static int choose_cpus(const struct options *options, const struct hm_topology *topology, struct hm_set *cpus,
                       struct hm_error *error)
{
    struct hm_error why;
    struct hm_set all;
    char list[100];
    hm_set_clear(&all);
    for (int i = 0; i < topology->n_sockets; i++)
        hm_set_union(&all, &topology->socket_cpus[i]);
    if (!options->cpus) {
        if (read_own_cpus(cpus, error) < 0)
            return -1;
        if (options->topology && !hm_set_intersects(cpus, &all))
            *cpus = all;
        return 0;
    }
    if (hm_set_parse(cpus, options->cpus, &why) < 0)
        return hm_fail(error, EINVAL, "--cpus: %s", why.text);
    if (hm_set_is_empty(cpus) || !hm_set_within(cpus, &all))
        return hm_fail(error, EINVAL, "--cpus %.60s: give CPUs of this node, which has %s", options->cpus,
                       hm_set_format(&all, list, sizeof(list)));
    return 0;
}

static int choose_abilities(const struct options *options, const struct hm_tiers *tiers, const struct hm_config *config,
                            struct hm_abilities *abilities, struct hm_error *error)
{
    struct hm_error why;
    if (options->kernel && hm_abilities_of_kernel(options->kernel, abilities, &why) < 0)
        return hm_fail(error, EINVAL, "--kernel: %s", why.text);
    if (!options->kernel && hm_abilities_read(tiers, abilities, error) < 0)
        return -1;
    /*
     * With --topology the plan is for another machine. Its weights and regions are not known. It is assumed to have
     * the preload library, soft-dirty marks and samples of stores.
     */
    if (options->topology) {
        abilities->has_weights = abilities->weights_auto = abilities->lacks_preload = false;
        abilities->lacks_marks = abilities->lacks_store_samples = false;
    } else {
        hm_regions_read(HM_REGIONS_FOLDER, &tiers->topology, &abilities->regions);
    }
    abilities->alone = options->alone;
    abilities->has_load = config->load[0] != '\0';
    return abilities->has_load ? hm_loadfile_read(config->load, &abilities->load, error) : 0;
}

static int choose_size(const struct options *options, uint64_t *bytes, struct hm_error *error)
{
    struct hm_error why;
    if (!options->size)
        return 0;
    if (hm_size_parse(options->size, bytes, &why) < 0)
        return hm_fail(error, EINVAL, "--size: %s", why.text);
    if (*bytes == 0)
        return hm_fail(error, EINVAL, "--size: \"%.40s\" is nothing: leave --size out where it is not known",
                       options->size);
    return 0;
}

/* Returns 0, or the exit status with a text in `error`. */
static int make_plan(const struct options *options, struct work *work, struct hm_error *error)
{
    struct hm_request request;
    struct hm_abilities abilities;
    const char *path = options->config ? options->config : hm_config_path();

    if (hm_request_parse(options->request, &request, error) < 0 ||
        choose_size(options, &work->where.size_bytes, error) < 0 ||
        hm_config_read(path, options->config != NULL, &work->config, error) < 0 ||
        hm_discover(options->topology, &work->tiers.topology, error) < 0 ||
        choose_cpus(options, &work->tiers.topology, &work->where.cpus, error) < 0 ||
        choose_abilities(options, &work->tiers, &work->config, &abilities, error) < 0)
        return EXIT_BAD;
    if (hm_tiers_group(&work->tiers.topology, &work->config, &work->tiers, error) < 0 ||
        hm_plan_resolve(&request, &work->tiers, &work->config, &abilities, &work->where, &work->plan, error) < 0)
        return errno == ENODEV ? EXIT_UNSERVED : EXIT_BAD;
    return 0;
}

static int show_modes(bool json)
{
    int result = 0;
    if (json)
        result = hm_modesprint_json();
    else
        hm_modesprint_text();
    return hm_output_end("hybridmem plan", result, EXIT_SUCCESS);
}

int main(int argc, char **argv)
{
    struct options options = {0};
    struct hm_error error = {""};
    int status = parse_options(argc, argv, &options), result = 0;
    if (status >= 0)
        return status;
    if (options.modes)
        return show_modes(options.json);
    struct work *work = calloc(1, sizeof(*work));
    if (!work)
        return fail("out of memory");
    status = make_plan(&options, work, &error);
    if (status)
        fail(error.text);
    else if (options.json)
        result = hm_planprint_json(&work->plan, &work->tiers.topology);
    else
        hm_planprint_text(&work->plan, &work->tiers.topology);
    status = hm_output_end("hybridmem plan", result, status);
    free(work);
    return status;
}
