/* SPDX-License-Identifier: Apache-2.0 */
#include "modesprint.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/words.h"
#include "cli/draw/figures.h"
#include "core/request/keys.h"
#include "core/request/modes.h"

#define HELP_COLUMN 14 /* column at which the texts of the help begin */
#define TEXT_COLUMN 12 /* the same for the list of modes */
#define LIST 256       /* bytes for a list of words */

/* Names the modes that take a group of keys, as "all modes but off" or "isolate and migrate". Returns `out`. */
static char *describe_modes(unsigned group, char *out, size_t size)
{
    unsigned with = 0, without = 0;
    int n_with = 0, n_without = 0;
    for (int i = 0; hm_mode_at(i); i++) {
        bool takes = hm_mode_at(i)->keys & group;
        with |= (unsigned)takes << i;
        without |= (unsigned)!takes << i;
        n_with += takes;
        n_without += !takes;
    }
    if (n_with <= n_without)
        return hm_modes_list(with, " and ", out, size);
    size_t used = (size_t)snprintf(out, size, "all modes but ");
    hm_modes_list(without, " and ", out + used, size - used);
    return out;
}

void hm_modesprint_help(void)
{
    const struct hm_key *key;
    unsigned group = 0;
    char modes[HM_MODES_LIST];
    puts("MODE[,KEY=VALUE]...");
    for (int i = 0; hm_mode_at(i); i++)
        hm_words_put_row(stdout, HM_WORDS_COLUMNS, HELP_COLUMN, hm_mode_at(i)->about, "  %s", hm_mode_at(i)->name);
    for (int i = 0; (key = hm_key_at(i)); i++) {
        if (key->group != group)
            printf("Keys of %s:\n", describe_modes(key->group, modes, sizeof(modes)));
        group = key->group;
        hm_words_put_row(stdout, HM_WORDS_COLUMNS, HELP_COLUMN, key->about, "  %s", key->name);
    }
    puts("A key that is not given has the site's default, or else hybridmem's.");
}

/* The n-th key; "" if the mode does not take it, NULL past the last. */
static const char *key_of(const struct hm_mode_row *mode, int n)
{
    const struct hm_key *key = hm_key_at(n);
    return !key ? NULL : key->group & mode->keys ? key->name : "";
}

/* The n-th thing that a mode may want of the node; "" if this mode does not want it, NULL past the last. */
static const char *want_of(const struct hm_mode_row *mode, int n)
{
    const char *name = hm_mode_want_name(1u << n);
    return !name || mode->wants & 1u << n ? name : "";
}

typedef const char *word_of(const struct hm_mode_row *mode, int n);

static void put_list(const char *label, const struct hm_mode_row *mode, word_of *word)
{
    char list[LIST] = "";
    for (int n = 0; word(mode, n); n++) {
        size_t used = strlen(list);
        if (word(mode, n)[0])
            snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "", word(mode, n));
    }
    hm_words_put_row(stdout, HM_WORDS_COLUMNS, TEXT_COLUMN, list[0] ? list : "nothing", "  %s", label);
}

void hm_modesprint_text(void)
{
    const struct hm_mode_row *mode;
    for (int i = 0; (mode = hm_mode_at(i)); i++) {
        hm_words_put_row(stdout, HM_WORDS_COLUMNS, TEXT_COLUMN, mode->about, "%s", mode->name);
        put_list("keys", mode, key_of);
        put_list("wants", mode, want_of);
        if (mode->no_default)
            hm_words_put_row(stdout, HM_WORDS_COLUMNS, TEXT_COLUMN, mode->no_default, "  no default:");
    }
}

static json_t *list_array(const struct hm_mode_row *mode, word_of *word)
{
    json_t *array = json_array();
    size_t whole = 0;
    for (int n = 0; word(mode, n); n++) {
        if (!word(mode, n)[0])
            continue;
        json_array_append_new(array, json_string(word(mode, n)));
        whole++;
    }
    return hm_figures_whole(array, whole);
}

int hm_modesprint_json(void)
{
    const struct hm_mode_row *mode;
    json_t *modes = json_array();
    for (int i = 0; (mode = hm_mode_at(i)); i++)
        json_array_append_new(modes, json_pack("{s:s, s:s?, s:o, s:o, s:b, s:s}", "name", mode->name, "kind",
                                               mode->kind == HM_KIND_UNKNOWN ? NULL : hm_kind_name(mode->kind), "keys",
                                               list_array(mode, key_of), "wants", list_array(mode, want_of),
                                               "may_be_default", !mode->no_default, "about", mode->about));
    json_t *object = json_pack("{s:o}", "modes", hm_figures_whole(modes, HM_MODES));
    return hm_figures_end(stdout, object, JSON_INDENT(2));
}
