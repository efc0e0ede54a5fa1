/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hybridmem: runs <libexecdir>/hybridmem/hybridmem-COMMAND, as git does with its commands. The path is fixed at build
 * time, so neither PATH nor another variable can put another program in its place.
 */
#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"

#define N_ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))
#define MOST_WORD 32 /* longest word that can be a command */

enum { EXIT_USAGE = 2 };

/* The commands for people. The folder of their programs also has programs that people do not start, such as
 * hybridmem-monitor; those have no row in this table. */
static const struct {
    const char *name;
    const char *summary;
    const char *program; /* runs hybridmem-PROGRAM NAME; NULL: runs hybridmem-NAME */
} commands[] = {
    {"tiers", "the memory tiers of this node", NULL},
    {"plan", "what a request would do on this node", NULL},
    {"show", "what a job used and what it was given", NULL},
    {"report", "a table over many jobs", NULL},
    {"export", "metrics of a node's jobs for Prometheus", NULL},
    {"ingest", "take records into a history, for reports over years", NULL},
    {"top", "what a running migrator does", NULL},
    {"meter", "the power and the memory traffic of this node", NULL},
    {"trace", "record which pages a program uses, for replay", NULL},
    {"replay", "what the migrator makes of a recorded trace", NULL},
    {"sites", "where a program allocates its memory, and how much it is used", NULL},
    {"profile", "the traffic of each allocation site, by many runs", NULL},
    {"bench", "the bandwidth of memory that libhybridmem places", NULL},
    {"sources", "which sources of samples the migrator has on this node", NULL},
    {"config", "check or show the configuration", NULL},
    {"reap", "put right what dead jobs left on this node (root)", "job"},
#ifdef HAVE_NDCTL
    {"namespace", "persistent memory as file systems of jobs, or as memory (root)", NULL},
#endif
#ifdef HAVE_MEMMODE
    {"memmode", "the mode of this node's memory, and what is pending (root)", "memmode"},
#endif
    {"help", "this text, or that of a command", NULL},
};

static void print_help(FILE *out)
{
    fputs("Usage: hybridmem COMMAND [ARGUMENT]...\n\n"
          "How Slurm jobs use nodes with two kinds of memory (sbatch --hybrid-mem=MODE).\n\nCommands:\n",
          out);
    for (int i = 0; i < N_ROWS(commands); i++)
        fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].summary);
    fputs("\n'hybridmem COMMAND --help' tells more; 'hybridmem --version' the version.\n", out);
}

/*
 * The number of edits (insert, remove, replace) that turn one word into the other. Words longer than MOST_WORD count as
 * very different.
 */
static int count_edits(const char *a, const char *b)
{
    int row[MOST_WORD + 1];
    int length = (int)strlen(b);
    if (strlen(a) > MOST_WORD || length > MOST_WORD)
        return MOST_WORD;
    for (int j = 0; j <= length; j++)
        row[j] = j;
    for (int i = 0; a[i]; i++) {
        int diagonal = row[0];
        row[0] = i + 1;
        for (int j = 0; j < length; j++) {
            int replaced = diagonal + (a[i] != b[j]);
            int edited = (row[j] < row[j + 1] ? row[j] : row[j + 1]) + 1;
            diagonal = row[j + 1];
            row[j + 1] = replaced < edited ? replaced : edited;
        }
    }
    return row[length];
}

static bool is_near(const char *typed, const char *name)
{
    size_t length = strlen(typed);
    return count_edits(typed, name) <= (length > 3 ? 2 : 1) || (length >= 2 && strncmp(typed, name, length) == 0);
}

static int fail_unknown(const char *word)
{
    char shown[MOST_WORD + 1];
    bool has_near = false;
    snprintf(shown, sizeof(shown), "%s", word);
    for (char *byte = shown; *byte; byte++)
        if (*byte < 0x20 || *byte == 0x7f)
            *byte = '?';
    fprintf(stderr, "hybridmem: \"%s\" is not a command", shown);
    for (int i = 0; i < N_ROWS(commands); i++) {
        if (is_near(word, commands[i].name)) {
            fprintf(stderr, "%s%s", has_near ? " or " : ": did you mean ", commands[i].name);
            has_near = true;
        }
    }
    fputs(has_near ? "?\n" : ": 'hybridmem help' lists them\n", stderr);
    return EXIT_USAGE;
}

/*
 * Runs the program of the command `word`. argv[0] is the word; the argument before it, argv[-1], may be overwritten.
 * Returns only on failure.
 */
static int run(const char *word, char **argv)
{
    char path[sizeof(HM_PKGLIBEXECDIR "/hybridmem-") + MOST_WORD];
    const char *program = word;
    bool is_known = false;
    size_t length = strlen(word);
    if (length == 0 || length > MOST_WORD || strspn(word, "abcdefghijklmnopqrstuvwxyz") != length)
        return fail_unknown(word);
    for (int i = 0; i < N_ROWS(commands) && !is_known; i++) {
        is_known = strcmp(commands[i].name, word) == 0;
        if (is_known && commands[i].program) {
            program = commands[i].program;
            argv--; /* keep the word as the program's first argument */
        }
    }
    snprintf(path, sizeof(path), HM_PKGLIBEXECDIR "/hybridmem-%s", program);
    argv[0] = path;
    execv(path, argv);
    if (!is_known)
        return fail_unknown(word);
    fprintf(stderr, "hybridmem: %s cannot be run: %s\n", path, strerror(errno));
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        puts("hybridmem " PACKAGE_VERSION " for Slurm " HM_SLURM_VERSION);
        return hm_output_end("hybridmem", 0, EXIT_SUCCESS);
    }
    bool is_help = strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
    if (is_help && argc > 2 && strcmp(argv[2], "help") != 0) {
        char option[] = "--help";
        char *arguments[] = {NULL, argv[2], option, NULL};
        return run(argv[2], arguments + 1);
    }
    if (is_help) {
        print_help(stdout);
        return hm_output_end("hybridmem", 0, EXIT_SUCCESS);
    }
    return run(word, argv + 1);
}
