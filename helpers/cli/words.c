/* SPDX-License-Identifier: Apache-2.0 */
#include <config.h>

#include "words.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#define FIRST 256 /* of the table's options: no letter */

static int take(const struct hm_words *words, const struct hm_word *word)
{
    struct hm_error error = {""};
    if (word->flag)
        *word->flag = true;
    if (word->text)
        *word->text = optarg;
    if (!word->take || word->take(words->data, optarg, &error) == 0)
        return 0;
    if (error.text[0])
        fprintf(stderr, "hybridmem %s: --%s: %s\n", words->command, word->name, error.text);
    return -1;
}

int hm_words_parse(int argc, char **argv, const struct hm_words *words)
{
    struct option table[HM_WORDS_MOST + 3] = {{0}};
    size_t n = words->n < HM_WORDS_MOST ? words->n : HM_WORDS_MOST;
    for (size_t i = 0; i < n; i++)
        table[i] = (struct option){words->word[i].name, words->word[i].flag ? no_argument : required_argument, NULL,
                                   (int)(FIRST + i)};
    table[n] = (struct option){"help", no_argument, NULL, 'h'};
    table[n + 1] = (struct option){"version", no_argument, NULL, 'V'};

    for (int letter; (letter = getopt_long(argc, argv, "hV", table, NULL)) != -1;) {
        if (letter == 'h') {
            words->print_help();
            return EXIT_SUCCESS;
        }
        if (letter == 'V') {
            puts("hybridmem " PACKAGE_VERSION);
            return EXIT_SUCCESS;
        }
        if (letter == '?') { /* getopt_long has said what is wrong */
            fprintf(stderr, "Try 'hybridmem %s --help'.\n", words->command);
            return HM_WORDS_BAD;
        }
        if (take(words, &words->word[letter - FIRST]) != 0)
            return HM_WORDS_BAD;
    }
    return -1;
}

int hm_words_refuse(const struct hm_words *words, const char *word)
{
    fprintf(stderr, "hybridmem %s: unexpected word '%s'. Try 'hybridmem %s --help'.\n", words->command, word,
            words->command);
    return HM_WORDS_BAD;
}
