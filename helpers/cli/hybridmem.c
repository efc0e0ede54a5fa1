/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hybridmem: runs <libexecdir>/hybridmem/hybridmem-COMMAND, as git does. The path is fixed at build time: neither PATH
 * nor any other variable can put another program in its place.
 */
#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N_ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))
#define MOST_WORD 32 /* longest word that can be a command */

enum { EXIT_USAGE = 2 };

/* Programs that Slurm's hooks start are in the same folder, and not here. */
static const struct {
    const char *name;
    const char *summary;
} commands[] = {
    {"tiers", "the memory tiers of this node"},        {"plan", "what a request would do on this node"},
    {"show", "what a job used and what it was given"}, {"report", "a table over many jobs"},
    {"config", "check or show the configuration"},     {"reap", "put right what dead jobs left on this node (root)"},
    {"help", "this text, or that of a command"},
};

static void print_help(FILE *out)
{
    fputs("Usage: hybridmem COMMAND [ARGUMENT]...\n\n"
          "How Slurm jobs use nodes with two kinds of memory (sbatch --hybrid-mem=MODE).\n\nCommands:\n",
          out);
    for (int i = 0; i < N_ROWS(commands); i++)
        fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].summary);
    fputs("\n'hybridmem COMMAND --help' tells more; 'hybridmem --version' the version.\n", out);
}

/* Edits (insert, remove, replace) that make one word the other. Words longer than MOST_WORD are far from everything. */
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
    return count_edits(typed, name) <= 2 || (length >= 2 && strncmp(typed, name, length) == 0);
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

/* Run hybridmem-WORD with these arguments (argv[0] is replaced). Returns only when that failed. */
static int run(const char *word, char **argv)
{
    char path[sizeof(HM_PKGLIBEXECDIR "/hybridmem-") + MOST_WORD];
    size_t length = strlen(word);
    if (length == 0 || length > MOST_WORD || strspn(word, "abcdefghijklmnopqrstuvwxyz") != length)
        return fail_unknown(word);
    snprintf(path, sizeof(path), HM_PKGLIBEXECDIR "/hybridmem-%s", word);
    argv[0] = path;
    execv(path, argv);
    for (int i = 0; i < N_ROWS(commands); i++) {
        if (strcmp(commands[i].name, word) == 0) {
            fprintf(stderr, "hybridmem: %s cannot be run: %s\n", path, strerror(errno));
            return EXIT_FAILURE;
        }
    }
    return fail_unknown(word);
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
        return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    bool is_help = strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
    if (is_help && argc > 2 && strcmp(argv[2], "help") != 0) {
        char option[] = "--help";
        char *arguments[] = {NULL, option, NULL};
        return run(argv[2], arguments);
    }
    if (is_help) {
        print_help(stdout);
        return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    return run(word, argv + 1);
}
