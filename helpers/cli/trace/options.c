/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/size.h"
#include "migrator/recording/recording.h"

#define PHASE_ACCESSES UINT64_C(5000000)
#define CACHE_BYTES (UINT64_C(1) << 20)

static int take_phase_accesses(void *data, const char *text, struct hm_error *error)
{
    struct hm_trace_options *options = data;
    return hm_size_parse_number(text, 1, HM_RECORDING_MOST, &options->phase_accesses, error);
}

static int take_cache(void *data, const char *text, struct hm_error *error)
{
    struct hm_trace_options *options = data;
    uint64_t bytes;
    if (hm_size_parse(text, &bytes, error) < 0)
        return -1;
    if (bytes == 0 || bytes % HM_LINECACHE_SET != 0 || bytes > HM_LINECACHE_MOST)
        return hm_fail(error, EINVAL, "\"%.40s\" is not the size of a cache: use 512 to 1G, a multiple of 512", text);
    options->cache_bytes = bytes;
    return 0;
}

static void print_help(void)
{
    printf("Usage: hybridmem trace -o FILE [OPTION]... -- PROGRAM [ARGUMENT]...\n"
           "\n"
           "Runs a program in Valgrind, and records which pages it loads from and stores to,\n"
           "for hybridmem replay. The program takes thousands of times as long as by itself:\n"
           "give it a small input.\n"
           "\n"
           "Options:\n"
           "  -o, --output FILE      the trace to write; compressed if it ends in .zst\n"
           "  --phase-accesses N     loads and stores in a phase (default: %" PRIu64 ")\n"
           "  --cache SIZE           size of the cache that serves what does not reach\n"
           "                         memory (default: 1M)\n"
           "  -h, --help             this text\n"
           "  -V, --version          the version\n"
           "\n"
           "Exit status: that of the program; 125 no trace could be made, 126 the program\n"
           "cannot be run, 127 there is no such program, 2 wrong usage.\n",
           PHASE_ACCESSES);
}

int hm_traceoptions_fail(int status, const char *text)
{
    fprintf(stderr, "hybridmem trace: %s\n", text);
    return status;
}

int hm_traceoptions_parse(int argc, char **argv, struct hm_trace_options *options)
{
    const struct hm_word table[] = {
        {"output", .path = &options->output, .letter = 'o'},
        {"phase-accesses", .take = take_phase_accesses},
        {"cache", .take = take_cache},
    };
    const struct hm_words words = {"trace", print_help, table, sizeof(table) / sizeof(table[0]), options};
    *options = (struct hm_trace_options){.phase_accesses = PHASE_ACCESSES, .cache_bytes = CACHE_BYTES};
    int status = hm_words_parse_before(argc, argv, &words);
    if (status >= 0)
        return status;
    if (!options->output)
        return hm_traceoptions_fail(HM_TRACE_BAD, "-o is missing: name the trace, as in: hybridmem trace -o "
                                                  "app.trace.zst -- ./app");
    if (optind == argc || !*argv[optind])
        return hm_traceoptions_fail(HM_TRACE_BAD, "the program is missing: give one, as in: hybridmem trace -o "
                                                  "app.trace.zst -- ./app");
    options->program = argv + optind;
    return -1;
}
