/* SPDX-License-Identifier: Apache-2.0 */
/* The words after `hybridmem COMMAND`: options by a table; --help, --version and wrong words as every command has them.
 */
#ifndef HM_BASE_WORDS_H
#define HM_BASE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "error.h"

#define HM_WORDS_MOST 16
#define HM_WORDS_BAD 2      /* exit status of wrong usage */
#define HM_WORDS_COLUMNS 80 /* of a help text */

/* One option. It has an argument where there is `text`, `path` or `take`. */
struct hm_word {
    const char *name;
    const char **text; /* gets the argument */
    const char **path; /* the same, of a file or folder: an empty one is refused */
    bool *flag;        /* becomes true */
    /* Takes the argument instead. Returns 0, or -1: with a text, which is shown behind the option's name, or without
     * one where all is said. */
    int (*take)(void *data, const char *argument, struct hm_error *error);
};

struct hm_words {
    const char *command;
    void (*print_help)(void);
    const struct hm_word *word;
    size_t n;   /* at most HM_WORDS_MOST */
    void *data; /* for `take` */
};

/* Take the options. Returns -1 to go on with the words from argv[optind] on, or the exit status: all is said then. */
int hm_words_parse(int argc, char **argv, const struct hm_words *words);

/* Where a row is broken: at the width of the terminal that standard output is. 0, nowhere, where it is none: programs
 * that read it find a line for each thing. */
size_t hm_words_columns(void);

/* Print a row of so many columns: the head (printf style), and from `column` on the text, in as many lines as it takes.
 * With 0 columns the text is printed as it is, in one line. */
void hm_words_put_row(FILE *out, size_t columns, size_t column, const char *text, const char *head, ...)
    __attribute__((format(printf, 5, 6)));

/* Name a word that should not be there. Returns HM_WORDS_BAD. */
int hm_words_refuse(const struct hm_words *words, const char *word);

#endif
