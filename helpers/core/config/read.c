/* SPDX-License-Identifier: Apache-2.0 */
/* Reads hybridmem.conf with libConfuse. Each value is checked and stored in libConfuse's callback, so that each error
 * has its line. */
#include <confuse.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/path.h"
#include "clean.h"
#include "value.h"

#define FILE_MAX 65536 /* bytes */
#define WORDS_MAX 64   /* most words of a section, with libConfuse's end mark; each has a bit in `seen` */

/* State of the parse. It is global, as libConfuse passes no pointer to callbacks (its scanner is global, too). */
static struct {
    const char *path;
    struct hm_config *config;
    struct hm_error *error;
    bool has_error;
    /* Words seen in the section that is being read (one bit for each), to find words that are there twice. */
    uint64_t seen[HM_SECTIONS];
} reading;

/* Keep the first error only; what libConfuse adds to it is dropped. */
static void fail_at(int line, const char *what, const char *text)
{
    if (!reading.has_error)
        hm_fail(reading.error, EINVAL, "%.160s:%d: %s%s%s", reading.path, line, what, *what ? ": " : "", text);
    reading.has_error = true;
}

static enum hm_section section_of(cfg_t *cfg)
{
    for (int i = HM_SECTION_TOP + 1; i < HM_SECTIONS; i++)
        if (strcmp(cfg_name(cfg), hm_configvalue_section_name((enum hm_section)i)) == 0)
            return (enum hm_section)i;
    return HM_SECTION_TOP;
}

/* libConfuse found an error itself: say it in our words, or in libConfuse's where we have none, and add what would be
 * right. */
__attribute__((format(printf, 2, 0))) static void explain_error(cfg_t *cfg, const char *format, va_list arguments)
{
    char text[160], line[640], words[520];
    vsnprintf(text, sizeof(text), format, arguments);
    char *quote = strchr(text, '\'');
    if (strstr(format, "no such option") && quote) {
        quote[strcspn(quote + 1, "'") + 1] = '\0';
        snprintf(line, sizeof(line), "unknown word \"%.60s\": use %s", quote + 1,
                 hm_configvalue_words(section_of(cfg), words, sizeof(words)));
    } else if (strstr(format, "duplicate title") && quote) {
        quote[strcspn(quote + 1, "'") + 1] = '\0';
        snprintf(line, sizeof(line), "a second section with the title \"%.60s\": put both into one", quote + 1);
    } else {
        snprintf(line, sizeof(line), "%s: write WORD = VALUE, WORD = { VALUE, VALUE } or SECTION \"TITLE\" { ... }",
                 text);
    }
    fail_at(cfg->line, "", line);
}

static int word_number(enum hm_section section, const char *name)
{
    int n = 0;
    const char *word;
    while ((word = hm_configvalue_word(section, n, NULL)) && strcmp(word, name) != 0)
        n++;
    return n;
}

/* Note the line number of what can be judged only later, on a node or together with other words: of a tier (its
 * `nodes`, else its first word), of channels, and of a default_mode. A later error text names that line. */
static void note_line(enum hm_section section, int entry, const char *word, int line)
{
    struct hm_config *config = reading.config;
    if (section == HM_SECTION_TIER && (config->tier[entry].line == 0 || strcmp(word, "nodes") == 0))
        config->tier[entry].line = line;
    if (section == HM_SECTION_CHANNELS)
        config->channels[entry].line = line;
    if (section == HM_SECTION_PARTITION && strcmp(word, "default_mode") == 0)
        config->rule[entry].default_line = line;
}

/* Callback for each value. libConfuse copies the string that *result points to. */
static int take_value(cfg_t *cfg, cfg_opt_t *option, const char *value, void *result)
{
    struct hm_error why;
    char what[120];
    enum hm_section section = section_of(cfg);
    const char *word = cfg_opt_name(option);
    uint64_t bit = UINT64_C(1) << word_number(section, word);
    bool is_first = cfg_opt_size(option) <= 1;
    const char *title = section == HM_SECTION_TOP ? "" : cfg_title(cfg);

    if (section == HM_SECTION_TOP)
        snprintf(what, sizeof(what), "%s", word);
    else
        snprintf(what, sizeof(what), "%s \"%.60s\": %s", cfg_name(cfg), title, word);
    if (is_first && (reading.seen[section] & bit)) {
        fail_at(cfg->line, what, "it is there twice: write it once");
        return -1;
    }
    reading.seen[section] |= bit;
    int entry = hm_configvalue_entry(reading.config, section, title, &why);
    if (entry < 0) /* the title is wrong, not the word */
        snprintf(what, sizeof(what), "%s \"%.60s\"", cfg_name(cfg), title);
    if (entry < 0 || hm_configvalue_set(reading.config, section, entry, word, value, is_first, &why) < 0) {
        fail_at(cfg->line, what, why.text);
        return -1;
    }
    note_line(section, entry, word, cfg->line);
    *(const char **)result = value;
    return 0;
}

/* Callback at the end of each section. */
static int finish_section(cfg_t *cfg, cfg_opt_t *option)
{
    struct hm_error why;
    char what[100], words[520], text[600];
    cfg_t *body = cfg_opt_getnsec(option, cfg_opt_size(option) - 1);
    enum hm_section section = section_of(body);
    snprintf(what, sizeof(what), "%s \"%.60s\"", cfg_opt_name(option), cfg_title(body));
    int entry = hm_configvalue_entry(reading.config, section, cfg_title(body), &why);
    if (entry < 0) {
        fail_at(cfg->line, what, why.text);
        return -1;
    }
    if (reading.seen[section] == 0) {
        snprintf(text, sizeof(text), "the section says nothing: give %s",
                 hm_configvalue_words(section, words, sizeof(words)));
        fail_at(cfg->line, what, text);
        return -1;
    }
    if (hm_configvalue_finish(reading.config, section, entry, &why) < 0) {
        fail_at(cfg->line, what, why.text);
        return -1;
    }
    reading.seen[section] = 0;
    return 0;
}

/* Translate the table of words into libConfuse's form. `options` has WORDS_MAX rows. Returns how many are used. */
static int list_words(enum hm_section section, cfg_opt_t *options)
{
    bool is_list;
    int n = 0;
    for (const char *word; (word = hm_configvalue_word(section, n, &is_list)); n++) {
        cfg_opt_t list = CFG_STR_LIST_CB(word, NULL, CFGF_NODEFAULT, take_value);
        cfg_opt_t one = CFG_STR_CB(word, NULL, CFGF_NODEFAULT, take_value);
        options[n] = is_list ? list : one;
    }
    return n;
}

static int parse_text(const char *text)
{
    cfg_opt_t sections[HM_SECTIONS][WORDS_MAX] = {{{0}}};
    cfg_opt_t options[WORDS_MAX + HM_SECTIONS] = {{0}};
    const cfg_opt_t end = CFG_END();
    int n = list_words(HM_SECTION_TOP, options);
    for (int i = HM_SECTION_TOP + 1; i < HM_SECTIONS; i++) {
        sections[i][list_words((enum hm_section)i, sections[i])] = end;
        cfg_opt_t section = CFG_SEC(hm_configvalue_section_name((enum hm_section)i), sections[i],
                                    CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES);
        section.validcb = finish_section;
        options[n++] = section;
    }
    options[n] = end;
    cfg_t *cfg = cfg_init(options, CFGF_NONE);
    if (!cfg)
        return hm_fail(reading.error, ENOMEM, "%.160s: out of memory", reading.path);
    cfg_set_error_function(cfg, explain_error);
    int status = cfg_parse_buf(cfg, text);
    cfg_free(cfg);
    if (status == CFG_SUCCESS && !reading.has_error)
        return 0;
    if (!reading.has_error)
        hm_fail(reading.error, EINVAL, "%.160s: not readable as a configuration", reading.path);
    errno = EINVAL;
    return -1;
}

/* Read the whole file, as hm_file_read_whole does. EFBIG: it has more than FILE_MAX bytes. */
static char *read_file(int fd, const char *path, size_t *length, struct hm_error *error)
{
    char *text = hm_file_read_whole(fd, FILE_MAX, length);
    if (!text && errno == E2BIG)
        hm_fail(error, EFBIG, "%.160s is larger than %d bytes", path, FILE_MAX);
    else if (!text)
        hm_fail_errno(error, "%.160s", path);
    return text;
}

int hm_config_parse(const char *path, char *text, size_t length, struct hm_config *config, struct hm_error *error)
{
    struct hm_error why;
    hm_config_defaults(config);
    int line = hm_configclean(text, length, &why);
    if (line > 0)
        return hm_fail(error, EINVAL, "%.160s:%d: %s", path, line, why.text);
    if (text[strspn(text, " \t\n")] == '\0')
        return 0;
    memset(&reading, 0, sizeof(reading));
    reading.path = path;
    reading.config = config;
    reading.error = error;
    if (parse_text(text) == 0)
        return 0;
    /* Do not leave half a configuration. */
    int number = errno;
    hm_config_defaults(config);
    errno = number;
    return -1;
}

int hm_config_read(const char *path, bool required, struct hm_config *config, struct hm_error *error)
{
    int status = -1;
    size_t length;
    hm_config_defaults(config);
    int fd = hm_path_open(path, error);
    if (fd < 0 && errno == ENOENT && !required) {
        if (error)
            error->text[0] = '\0';
        return 0;
    }
    if (fd < 0)
        return -1;
    char *text = read_file(fd, path, &length, error);
    if (text)
        status = hm_config_parse(path, text, length, config, error);
    if (status == 0)
        snprintf(config->path, sizeof(config->path), "%s", path);
    int number = errno;
    free(text);
    close(fd);
    errno = number;
    return status;
}
