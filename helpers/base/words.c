/* SPDX-License-Identifier: Apache-2.0 */
#include <config.h>

#include "words.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "output.h"

#define FIRST 256  /* getopt_long returns numbers from here on for the table's options; letters are below */
#define UNSIZED 80 /* columns of a terminal whose width is unknown */

static int take(const struct hm_words *words, const struct hm_word *word)
{
    struct hm_error error = {""};
    if (word->path && !*optarg) { /* typically a shell variable that is not set; open("") would give a worse error */
        fprintf(stderr, "hybridmem %s: --%s: \"\" names nothing: name a file or folder, or leave --%s out\n",
                words->command, word->name, word->name);
        return -1;
    }
    if (word->flag)
        *word->flag = true;
    if (word->text)
        *word->text = optarg;
    if (word->path)
        *word->path = optarg;
    if (!word->take || word->take(words->data, optarg, &error) == 0)
        return 0;
    if (error.text[0])
        fprintf(stderr, "hybridmem %s: --%s: %s\n", words->command, word->name, error.text);
    return -1;
}

/* Print what getopt_long found wrong. `word` is the last word that it read. Returns HM_WORDS_BAD. */
static int refuse_option(const struct hm_words *words, int letter, const char *word)
{
    const char form[] = {'-', (char)optopt, '\0'};
    /* Where a letter is wrong (optopt has it), `word` may be an earlier word: show the letter instead. But for --help=x
     * and --version=x optopt is h or V, and `word` is right. */
    if (letter == '?' && optopt > 0 && optopt < FIRST && !strchr("hV", optopt))
        word = form;
    fprintf(stderr, "hybridmem %s: %soption '%s'%s. Try 'hybridmem %s --help'.\n", words->command,
            letter == '?' && optopt < FIRST ? "unrecognized " : "", word,
            letter == ':'     ? " requires an argument"
            : optopt >= FIRST ? " takes no argument"
                              : "",
            words->command);
    return HM_WORDS_BAD;
}

/* Print the help or the version. Returns the exit status. */
static int tell(const struct hm_words *words, int letter)
{
    /* One write for the whole text: why a write in the middle of it failed would not be known at the end. */
    static char buffer[16384];
    char name[64];
    (void)setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
    if (letter == 'h')
        words->print_help();
    else
        puts("hybridmem " PACKAGE_VERSION);
    snprintf(name, sizeof(name), "hybridmem %s", words->command);
    return hm_output_end(name, 0, EXIT_SUCCESS);
}

/* The option that getopt_long has found: a number of the table, or the letter of an option. */
static const struct hm_word *find_word(const struct hm_words *words, int found)
{
    const struct hm_word *word = words->word;
    if (found >= FIRST)
        return &word[found - FIRST];
    while (word->letter != (char)found)
        word++;
    return word;
}

/* `order` is "+" if the first word that is no option ends them. */
static int parse(int argc, char **argv, const struct hm_words *words, const char *order)
{
    struct option table[HM_WORDS_MOST + 3] = {{0}};
    char letters[2 * HM_WORDS_MOST + sizeof("+:hV")];
    size_t used = (size_t)snprintf(letters, sizeof(letters), "%s:hV", order);
    size_t n = words->n < HM_WORDS_MOST ? words->n : HM_WORDS_MOST;
    for (size_t i = 0; i < n; i++) {
        const struct hm_word *word = &words->word[i];
        table[i] = (struct option){word->name, word->flag ? no_argument : required_argument, NULL, (int)(FIRST + i)};
        if (word->letter)
            used +=
                (size_t)snprintf(letters + used, sizeof(letters) - used, "%c%s", word->letter, word->flag ? "" : ":");
    }
    table[n] = (struct option){"help", no_argument, NULL, 'h'};
    table[n + 1] = (struct option){"version", no_argument, NULL, 'V'};

    opterr = 0; /* getopt's own messages begin with the program's path */
    for (int letter; (letter = getopt_long(argc, argv, letters, table, NULL)) != -1;) {
        if (letter == 'h' || letter == 'V')
            return tell(words, letter);
        if (letter == '?' || letter == ':')
            return refuse_option(words, letter, argv[optind - 1]);
        if (take(words, find_word(words, letter)) != 0)
            return HM_WORDS_BAD;
    }
    return -1;
}

int hm_words_parse(int argc, char **argv, const struct hm_words *words)
{
    return parse(argc, argv, words, "");
}

int hm_words_parse_before(int argc, char **argv, const struct hm_words *words)
{
    return parse(argc, argv, words, "+");
}

void hm_words_put_row(FILE *out, size_t columns, size_t column, const char *text, const char *head, ...)
{
    va_list arguments;
    va_start(arguments, head);
    int written = vfprintf(out, head, arguments);
    va_end(arguments);
    size_t used = written > 0 ? (size_t)written : 0;
    size_t gap = !*text ? 0 : used < column ? column - used : 1;
    if (columns == 0) {
        fprintf(out, "%*s%s\n", (int)gap, "", text);
        return;
    }
    for (const char *word = text; *word; gap = strspn(word, " "), word += gap) {
        size_t length = strcspn(word, " ");
        if (word != text && used + gap + length > columns) {
            fputc('\n', out);
            used = 0;
            gap = column;
        }
        used += gap + length;
        fprintf(out, "%*s%.*s", (int)gap, "", (int)length, word);
        word += length;
    }
    fputc('\n', out);
}

void hm_words_put_text(FILE *out, size_t columns, size_t column, const char *format, ...)
{
    char text[HM_WORDS_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    size_t first = strcspn(text, " ");
    if (columns == 0)
        fprintf(out, "%s\n", text);
    else
        hm_words_put_row(out, columns, column, text + first + strspn(text + first, " "), "%.*s", (int)first, text);
}

size_t hm_words_columns(FILE *out)
{
    struct winsize size;
    if (!isatty(fileno(out)))
        return 0;
    return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : UNSIZED;
}

int hm_words_refuse(const struct hm_words *words, const char *word)
{
    fprintf(stderr, "hybridmem %s: unexpected word '%s'. Try 'hybridmem %s --help'.\n", words->command, word,
            words->command);
    return HM_WORDS_BAD;
}
