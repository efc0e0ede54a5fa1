/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the command line of `hybridmem COMMAND`: a table of options, and the same --help, --version and errors for
 * all commands that call hm_words_parse. */
#ifndef HM_BASE_WORDS_H
#define HM_BASE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "error.h"

#define HM_WORDS_MOST 20    /* most options of a command */
#define HM_WORDS_BAD 2      /* exit status of wrong usage */
#define HM_WORDS_COLUMNS 80 /* width of a help text */
#define HM_WORDS_TEXT 1024  /* bytes of a text that is wrapped */

/* One option. It takes an argument if `text`, `path` or `take` is set. */
struct hm_word {
    const char *name;
    const char **text; /* gets the argument */
    const char **path; /* gets the argument, a file or folder; an empty one is refused */
    bool *flag;        /* becomes true */
    /* Gets the argument and checks it. Returns 0, or -1: with a text, which is printed after the option's name, or with
     * an empty one where it has printed everything itself. */
    int (*take)(void *data, const char *argument, struct hm_error *error);
    char letter; /* its short form; '\0': it has none */
};

struct hm_words {
    const char *command;
    void (*print_help)(void);
    const struct hm_word *word;
    size_t n;   /* at most HM_WORDS_MOST */
    void *data; /* for `take` */
};

/* Parse the options. Returns -1 to go on with the words from argv[optind] on, or the exit status where the command is
 * done. */
int hm_words_parse(int argc, char **argv, const struct hm_words *words);
/* The same for a command that runs a program: the first word that is no option is the program, and all words after it
 * are the program's. */
int hm_words_parse_before(int argc, char **argv, const struct hm_words *words);

/* Width at which rows are wrapped: the width of the terminal, if `out` (stdout or stderr) is one. Else 0 (do not wrap),
 * as programs that read the output expect one line for each thing. */
size_t hm_words_columns(FILE *out);

/* Print a row: the head (printf style), then the text from `column` on, wrapped at `columns` into as many lines as it
 * takes. With `columns` 0 the text is printed in one line. */
void hm_words_put_row(FILE *out, size_t columns, size_t column, const char *text, const char *head, ...)
    __attribute__((format(printf, 5, 6)));

/* Print a text (printf style, cut at HM_WORDS_TEXT), wrapped like a row's: further lines begin at `column`. */
void hm_words_put_text(FILE *out, size_t columns, size_t column, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Print that a word should not be there. Returns HM_WORDS_BAD. */
int hm_words_refuse(const struct hm_words *words, const char *word);

#endif
