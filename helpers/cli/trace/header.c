/* SPDX-License-Identifier: Apache-2.0 */
#include <config.h>

#include "header.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* Writes a text in one line. */
static void put_text(FILE *out, const char *text)
{
    for (; *text; text++)
        fputc((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text, out);
}

static void put_program(FILE *out, const struct hm_trace_options *options)
{
    const char *slash = strrchr(options->program[0], '/');
    fputs("# app: ", out);
    put_text(out, slash ? slash + 1 : options->program[0]);
    fputs("\n# command:", out);
    for (char **word = options->program; *word; word++) {
        fputc(' ', out);
        put_text(out, *word);
    }
    fputc('\n', out);
}

static void put_how(FILE *out, const struct hm_trace_options *options)
{
    fprintf(out,
            "# recorded_by: hybridmem trace " PACKAGE_VERSION ", with valgrind --tool=lackey: each load and store\n"
            "# page_size: 4096\n"
            "# phase_accesses: %" PRIu64 " loads and stores, of all processes together; the last phase may be shorter\n"
            "# cache: %" PRIu64 " bytes, %d ways, lines of 64 bytes, least recently used out first, write-back, "
            "write-allocate; one for all processes, by virtual addresses\n",
            options->phase_accesses, options->cache_bytes, HM_LINECACHE_WAYS);
}

static void put_sums(FILE *out, const struct hm_valgrind *valgrind)
{
    const struct hm_recording_sums *sums = &valgrind->recording->sums;
    fprintf(out,
            "# raw_reads: %" PRIu64 "\n# raw_writes: %" PRIu64 "\n# mem_reads: %" PRIu64 "\n# mem_writes: %" PRIu64
            "\n",
            sums->raw_reads, sums->raw_writes, sums->mem_reads, sums->mem_writes);
    if (sums->left_out > 0)
        fprintf(out, "# left_out: %" PRIu64 " loads and stores of further processes, or above 2^48\n", sums->left_out);
    if (valgrind->n_unknown > 0)
        fprintf(out, "# not_understood: %" PRIu64 " lines of Valgrind's\n", valgrind->n_unknown);
}

static void put_processes(FILE *out, const struct hm_valgrind *valgrind)
{
    for (uint32_t i = 0; i < valgrind->n_traced; i++) {
        const struct hm_traced *traced = &valgrind->traced[i];
        fprintf(out, "# process: pages from %" PRIx64 " on, pid %d, ", (uint64_t)i << HM_RECORDING_PAGE_BITS,
                (int)traced->pid);
        put_text(out, traced->command[0] ? traced->command : "forked");
        fputc('\n', out);
    }
}

char *hm_traceheader_make(const struct hm_trace_options *options, const struct hm_valgrind *valgrind,
                          const struct hm_program *program)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    put_program(out, options);
    put_how(out, options);
    put_sums(out, valgrind);
    if (WIFSIGNALED(program->status))
        fprintf(out, "# ended_by: signal %d\n", WTERMSIG(program->status));
    else
        fprintf(out, "# ended_by: exit status %d\n", WEXITSTATUS(program->status));
    if (program->is_left)
        fputs("# stopped: by a signal, while processes of the program still ran\n", out);
    put_processes(out, valgrind);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}
