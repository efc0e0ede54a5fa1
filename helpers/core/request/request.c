/* SPDX-License-Identifier: Apache-2.0 */
#include "request.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "keys.h"

#define N_ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

/* How much of what was typed an error shows, so that there is room left for what would be right. */
#define SHOWN 48
#define VALUE 64 /* longer than every value that is right */

#define MODES "off, fast, slow, dram, pmem, cxl, hbm, interleave, spill, isolate, migrate or fsdax"
#define OPTION "--hybrid-mem="

/* The order is that of hm_request_mode_at and of the bits in the configuration's `modes`. */
static const struct {
    const char *name;
    enum hm_mode mode;
    enum hm_kind kind;
} modes[] = {
    {"off", HM_MODE_OFF, HM_KIND_UNKNOWN},
    {"fast", HM_MODE_FAST, HM_KIND_UNKNOWN},
    {"slow", HM_MODE_SLOW, HM_KIND_UNKNOWN},
    {"dram", HM_MODE_FAST, HM_KIND_DRAM},
    {"pmem", HM_MODE_FAST, HM_KIND_PMEM},
    {"cxl", HM_MODE_FAST, HM_KIND_CXL},
    {"hbm", HM_MODE_FAST, HM_KIND_HBM},
    {"interleave", HM_MODE_INTERLEAVE, HM_KIND_UNKNOWN},
    {"spill", HM_MODE_SPILL, HM_KIND_UNKNOWN},
    {"isolate", HM_MODE_ISOLATE, HM_KIND_UNKNOWN},
    {"migrate", HM_MODE_MIGRATE, HM_KIND_UNKNOWN},
    {"fsdax", HM_MODE_FSDAX, HM_KIND_UNKNOWN},
};

static const struct {
    const char *name, *why;
} unserved_modes[] = {
    {"memory", "this version of hybridmem does not switch nodes to Memory Mode"},
};

/* A piece of the option's text, not terminated. */
struct word {
    const char *text;
    int length;
};

/* For printing with %.*s: a long word is cut. */
#define SHOW(word) (word).length < SHOWN ? (word).length : SHOWN, (word).text

static bool is_word(struct word word, const char *name)
{
    return (size_t)word.length == strlen(name) && memcmp(word.text, name, (size_t)word.length) == 0;
}

/* Returns -1 where it is not one of them. */
static int find_unserved(struct word word)
{
    for (int i = 0; i < N_ROWS(unserved_modes); i++)
        if (is_word(word, unserved_modes[i].name))
            return i;
    return -1;
}

static int parse_mode(const char *text, struct word word, struct hm_request *request, struct hm_error *error)
{
    for (int i = 0; i < N_ROWS(modes); i++) {
        if (is_word(word, modes[i].name)) {
            request->mode = modes[i].mode;
            request->kind = modes[i].kind;
            return 0;
        }
    }
    int unserved = find_unserved(word);
    if (unserved >= 0)
        return hm_fail(error, ENOTSUP, OPTION "%.*s: %s is not available on this cluster: %s", SHOWN, text,
                       unserved_modes[unserved].name, unserved_modes[unserved].why);
    if (word.length == 0)
        return hm_fail(error, EINVAL, OPTION "%.*s: the mode is empty: use " MODES, SHOWN, text);
    return hm_fail(error, EINVAL, OPTION "%.*s: unknown mode \"%.*s\": use " MODES, SHOWN, text, SHOW(word));
}

/* "socket, fast, ... or rate": the keys of the mode. Returns `out`. */
static char *list_keys(enum hm_mode mode, char *out, size_t size)
{
    const char *name[32];
    int n = 0;
    size_t used = 0;
    for (const struct hm_key *key; (key = hm_key_at(n)) && n < N_ROWS(name); n++)
        name[n] = key->modes & HM_KEYS_BIT(mode) ? key->name : NULL;
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

/* "isolate, migrate": the modes that take the key. Returns `out`. */
static char *list_modes_of(const struct hm_key *key, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < N_ROWS(modes) && used < size; i++)
        if (key->modes & HM_KEYS_BIT(modes[i].mode))
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", modes[i].name);
    return out;
}

/* Keys and values being read. */
struct parsing {
    const char *start; /* of error texts, before `text` */
    const char *text;  /* the whole */
    const char *form;  /* what it should look like */
    unsigned seen;     /* bit n: hm_key_at(n) was there */
    struct hm_request *request;
    struct hm_error *error;
};

static const struct hm_key *find_key(const struct parsing *p, struct word name, int *n)
{
    const struct hm_key *key;
    char list[160];
    for (*n = 0; (key = hm_key_at(*n)); ++*n)
        if (is_word(name, key->name))
            break;
    if (!key)
        hm_fail(p->error, EINVAL, "%s%.*s: unknown key \"%.*s\": %s takes %s", p->start, SHOWN, p->text, SHOW(name),
                hm_request_mode_name(p->request), list_keys(p->request->mode, list, sizeof(list)));
    else if (!(key->modes & HM_KEYS_BIT(p->request->mode)))
        hm_fail(p->error, EINVAL, "%s%.*s: %s takes no key \"%s\": it belongs to %s", p->start, SHOWN, p->text,
                hm_request_mode_name(p->request), key->name, list_modes_of(key, list, sizeof(list)));
    else
        return key;
    return NULL;
}

static int set_value(const struct parsing *p, const struct hm_key *key, struct word value)
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

/* One KEY=VALUE, or a word that takes no value. */
static int parse_key(struct parsing *p, struct word part)
{
    int n;
    const char *sign = memchr(part.text, '=', (size_t)part.length);
    struct word name = {part.text, sign ? (int)(sign - part.text) : part.length};
    struct word value = {part.text + name.length + 1, part.length - name.length - 1};

    if (part.length == 0)
        return hm_fail(p->error, EINVAL, "%s%.*s: a part after a comma is empty: write %s", p->start, SHOWN, p->text,
                       p->form);
    if (p->request->mode == HM_MODE_OFF)
        return hm_fail(p->error, EINVAL, "%s%.*s: off takes no key, and here is \"%.*s\": write off alone", p->start,
                       SHOWN, p->text, SHOW(name));
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
    struct parsing p = {
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
    if (request->mode == HM_MODE_FSDAX && request->size_bytes == 0)
        return hm_fail(error, EINVAL, OPTION "%.*s: fsdax wants a size: write fsdax,size=200G", SHOWN, text);
    memcpy(request->text, text, length + 1);
    return 0;
}

int hm_request_parse_keys(const char *text, struct hm_migrate_keys *keys, struct hm_error *error)
{
    struct hm_request request = {.mode = HM_MODE_MIGRATE};
    struct parsing p = {
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

const char *hm_request_mode_name(const struct hm_request *request)
{
    for (int i = 0; i < N_ROWS(modes); i++)
        if (modes[i].mode == request->mode && modes[i].kind == request->kind)
            return modes[i].name;
    return "unknown";
}

const char *hm_request_help(void)
{
    return "MODE[,KEY=VALUE]...\n"
           "  off         nothing is touched\n"
           "  fast, slow  all memory in that tier\n"
           "  dram, pmem, cxl, hbm\n"
           "              all memory in the tier of that kind\n"
           "  interleave  pages alternate over both tiers\n"
           "  spill       fast tier first, the rest in the slow tier; weighted by\n"
           "              bandwidth where the tiers have channels of their own\n"
           "  isolate     large allocations start in the slow tier, then a migrator\n"
           "              beside the job keeps written data in the fast tier\n"
           "  migrate     starts as spill, then a migrator beside the job keeps its\n"
           "              hottest data in the fast tier\n"
           "  fsdax       a private DAX file system per socket for the job, in memory\n"
           "              that keeps data (PMem); gone with the job, unless it is to be kept\n"
           "Key of all modes but off:\n"
           "  socket      which sockets' memory: those of the task's CPUs (local),\n"
           "              the others (remote), or all (default)\n"
           "Keys of isolate and migrate; without one the site or the migrator chooses:\n"
           "  fast        most of the fast tier that the job keeps: 64G or 25%\n"
           "  period      accesses per sample: 100 to 2^40\n"
           "  interval    time between two decisions: 100ms to 24h\n"
           "  bins        most regions of memory that are told apart: 16 to 1048576\n"
           "  algorithm   regions, or bins as published\n"
           "  source      where samples come from: auto, perf, damon or faults\n"
           "  overhead    share of the job's CPUs for sampling: 0.01% to 10%\n"
           "  rate        bytes moved per second at most: 200M\n"
           "  hot-by      what makes data hot: accesses, or writes alone (isolate)\n"
           "Key of fsdax, which needs it:\n"
           "  size        of the file systems, all sockets' together: 200G\n"
           "Word of fsdax, without a value:\n"
           "  keep        the file systems stay on the node for your next jobs there, for as\n"
           "              long as the site has it\n";
}

const char *hm_request_mode_at(int n)
{
    return n >= 0 && n < N_ROWS(modes) ? modes[n].name : NULL;
}
