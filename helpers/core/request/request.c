/* SPDX-License-Identifier: Apache-2.0 */
#include "request.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "keys.h"
#include "parsing.h"

#define N_ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

#define SHOWN HM_PARSING_SHOWN
#define VALUE HM_REQUEST_TEXT /* room for a value */

#define OPTION "--hybrid-mem="

/* A part of the option's text; not terminated. */
struct word {
    const char *text;
    int length;
};

/* The two arguments of "%.*s"; a long word is cut. */
#define SHOW(word) (word).length < SHOWN ? (word).length : SHOWN, (word).text

static bool is_word(struct word word, const char *name)
{
    return (size_t)word.length == strlen(name) && memcmp(word.text, name, (size_t)word.length) == 0;
}

static int parse_mode(const char *text, struct word word, struct hm_request *request, struct hm_error *error)
{
    char modes[HM_MODES_LIST];
    int mode = hm_mode_find(word.text, (size_t)word.length);
    if (mode >= 0) {
        request->mode = (enum hm_mode)mode;
        return 0;
    }
    hm_modes_list(~0u, " or ", modes, sizeof(modes));
    if (word.length == 0)
        return hm_fail(error, EINVAL, OPTION "%.*s: the mode is empty: use %s", SHOWN, text, modes);
    return hm_fail(error, EINVAL, OPTION "%.*s: unknown mode \"%.*s\": use %s", SHOWN, text, SHOW(word), modes);
}

/* List the keys of these groups: "socket, fast, ... or hot-by". Returns `out`. */
static char *list_keys(unsigned groups, char *out, size_t size)
{
    const char *name[32];
    int n = 0;
    size_t used = 0;
    for (const struct hm_key *key; (key = hm_key_at(n)) && n < N_ROWS(name); n++)
        name[n] = key->group & groups ? key->name : NULL;
    int last = n - 1;
    while (last > 0 && !name[last])
        last--;
    out[0] = '\0';
    for (int i = 0; i <= last && used < size; i++)
        if (name[i])
            used += (size_t)snprintf(out + used, size - used, "%s%s",
                                     used == 0   ? ""
                                     : i == last ? " or "
                                                 : ", ",
                                     name[i]);
    return out;
}

/* List the modes that take keys of these groups: "isolate, migrate". Returns `out`. */
static char *list_modes_of(unsigned groups, char *out, size_t size)
{
    unsigned modes = 0;
    for (int i = 0; hm_mode_at(i); i++)
        modes |= hm_mode_at(i)->keys & groups ? 1u << i : 0;
    return hm_modes_list(modes, ", ", out, size);
}

static const struct hm_key *find_key(const struct hm_parsing *p, struct word name, int *n)
{
    const struct hm_key *key;
    const struct hm_mode_row *mode = hm_request_mode(p->request);
    char list[HM_MODES_LIST];
    unsigned groups = 0; /* of all keys of this name: what it means may depend on the mode */
    for (*n = 0; (key = hm_key_at(*n)); ++*n) {
        if (!is_word(name, key->name))
            continue;
        if (key->group & mode->keys)
            return key;
        groups |= key->group;
    }
    if (!groups)
        hm_fail(p->error, EINVAL, "%s%.*s: unknown key \"%.*s\": %s takes %s", p->start, SHOWN, p->text, SHOW(name),
                mode->name, list_keys(mode->keys, list, sizeof(list)));
    else
        hm_fail(p->error, EINVAL, "%s%.*s: %s takes no key \"%.*s\": it belongs to %s", p->start, SHOWN, p->text,
                mode->name, SHOW(name), list_modes_of(groups, list, sizeof(list)));
    return NULL;
}

static int set_value(const struct hm_parsing *p, const struct hm_key *key, struct word value)
{
    char text[VALUE];
    if ((size_t)value.length < sizeof(text)) {
        memcpy(text, value.text, (size_t)value.length);
        text[value.length] = '\0';
        if (key->set(key, text, p->request) == 0)
            return 0;
    }
    return hm_fail(p->error, EINVAL, "%s%.*s: %s wants %s, not \"%.*s\"", p->start, SHOWN, p->text, key->name,
                   key->wants, SHOW(value));
}

/* Parse one KEY=VALUE, or a key that takes no value. */
static int parse_key(struct hm_parsing *p, struct word part)
{
    int n;
    const char *sign = memchr(part.text, '=', (size_t)part.length);
    struct word name = {part.text, sign ? (int)(sign - part.text) : part.length};
    struct word value = {part.text + name.length + 1, part.length - name.length - 1};

    if (!p->text[0])
        return hm_fail(p->error, EINVAL, "%sit is empty: write %s", p->start, p->form);
    if (part.length == 0)
        return hm_fail(p->error, EINVAL, "%s%.*s: a part after a comma is empty: write %s", p->start, SHOWN, p->text,
                       p->form);
    const struct hm_mode_row *mode = hm_request_mode(p->request);
    if (!mode->keys)
        return hm_fail(p->error, EINVAL, "%s%.*s: %s takes no key, and here is \"%.*s\": write %s alone", p->start,
                       SHOWN, p->text, mode->name, SHOW(name), mode->name);
    const struct hm_key *key = find_key(p, name, &n);
    if (!key)
        return -1;
    if (!sign && key->wants)
        return hm_fail(p->error, EINVAL, "%s%.*s: %s wants a value: write %s", p->start, SHOWN, p->text, key->name,
                       key->example);
    if (sign && !key->wants)
        return hm_fail(p->error, EINVAL, "%s%.*s: %s takes no value: write %s", p->start, SHOWN, p->text, key->name,
                       key->example);
    if (p->seen & 1u << n)
        return hm_fail(p->error, EINVAL, "%s%.*s: %s is there twice: write it once", p->start, SHOWN, p->text,
                       key->name);
    p->seen |= 1u << n;
    return sign ? set_value(p, key, value) : key->set(key, "", p->request);
}

static struct word word_until_comma(const char *text)
{
    return (struct word){text, (int)strcspn(text, ",")};
}

int hm_request_parse(const char *text, struct hm_request *request, struct hm_error *error)
{
    struct hm_parsing p = {
        .start = OPTION, .text = text, .form = "MODE or MODE,KEY=VALUE", .request = request, .error = error};
    memset(request, 0, sizeof(*request));
    size_t length = strlen(text);
    if (length >= sizeof(request->text))
        return hm_fail(error, EINVAL, OPTION "%.*s...: %zu characters are too many: write at most %zu", SHOWN, text,
                       length, sizeof(request->text) - 1);

    struct word word = word_until_comma(text);
    if (parse_mode(text, word, request, error) < 0)
        return -1;
    while (word.text[word.length] == ',') {
        word = word_until_comma(word.text + word.length + 1);
        if (parse_key(&p, word) < 0)
            return -1;
    }
    if (hm_parsing_check(&p) < 0)
        return -1;
    memcpy(request->text, text, length + 1);
    return 0;
}

int hm_request_parse_keys(const char *text, struct hm_migrate_keys *keys, struct hm_error *error)
{
    struct hm_request request = {.mode = HM_MODE_MIGRATE};
    struct hm_parsing p = {
        .start = "", .text = text, .form = "KEY=VALUE or KEY=VALUE,KEY=VALUE", .request = &request, .error = error};
    struct word word = word_until_comma(text);
    if (strlen(text) >= sizeof(request.text))
        return hm_fail(error, EINVAL, "%.*s...: too long: write at most %zu characters", SHOWN, text,
                       sizeof(request.text) - 1);
    if (parse_key(&p, word) < 0)
        return -1;
    while (word.text[word.length] == ',') {
        word = word_until_comma(word.text + word.length + 1);
        if (parse_key(&p, word) < 0)
            return -1;
    }
    if (p.seen & 1u << HM_KEY_SOCKET)
        return hm_fail(error, EINVAL, "%.*s: socket is the job's to choose: leave it out", SHOWN, text);
    *keys = request.migrate;
    return 0;
}

const struct hm_mode_row *hm_request_mode(const struct hm_request *request)
{
    const struct hm_mode_row *row = hm_mode_at((int)request->mode);
    return row ? row : hm_mode_at(HM_MODE_OFF);
}

const char *hm_request_mode_name(const struct hm_request *request)
{
    return hm_request_mode(request)->name;
}

bool hm_request_wants(const struct hm_request *request, unsigned wants)
{
    bool has_migrator = request->guide.migrate || request->guide.fallback == HM_FALLBACK_MIGRATE;
    return (hm_request_mode(request)->wants | (has_migrator ? HM_WANTS_MIGRATOR : 0) |
            (request->guide.online ? HM_WANTS_PROFILE : 0)) &
           wants;
}

bool hm_request_is_mbi(const struct hm_request *request)
{
    return request->mode == HM_MODE_PROFILE && request->profile.method == HM_METHOD_MBI;
}
