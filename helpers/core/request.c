/* SPDX-License-Identifier: Apache-2.0 */
#include "request.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define N_ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

/* How much of what was typed an error shows, so that there is room left for what would be right. */
#define SHOWN 48

#define MODES "off, fast, slow, dram, pmem, cxl, hbm, interleave or spill"

/* The order is that of hm_request_mode_at and of the bits in the configuration's `modes`. */
static const struct {
    const char *name;
    enum hm_mode mode;
    enum hm_kind kind;
} modes[] = {
    {"off", HM_MODE_OFF, HM_KIND_UNKNOWN},     {"fast", HM_MODE_FAST, HM_KIND_UNKNOWN},
    {"slow", HM_MODE_SLOW, HM_KIND_UNKNOWN},   {"dram", HM_MODE_FAST, HM_KIND_DRAM},
    {"pmem", HM_MODE_FAST, HM_KIND_PMEM},      {"cxl", HM_MODE_FAST, HM_KIND_CXL},
    {"hbm", HM_MODE_FAST, HM_KIND_HBM},        {"interleave", HM_MODE_INTERLEAVE, HM_KIND_UNKNOWN},
    {"spill", HM_MODE_SPILL, HM_KIND_UNKNOWN},
};

static const struct {
    const char *name;
    enum hm_socket socket;
} sockets[] = {{"all", HM_SOCKET_ALL}, {"local", HM_SOCKET_LOCAL}, {"remote", HM_SOCKET_REMOTE}};

struct reason {
    const char *name;
    const char *why;
};

static const struct reason unserved_modes[] = {
    {"isolate", "this version of hybridmem has no write isolation"},
    {"migrate", "this version of hybridmem has no page migrator"},
    {"fsdax", "this version of hybridmem makes no DAX file systems"},
    {"memory", "this version of hybridmem does not switch nodes to Memory Mode"},
};

#define OF_FSDAX "it belongs to the mode fsdax, and this version of hybridmem makes no DAX file systems"
#define OF_MIGRATE "it belongs to the modes migrate and isolate, and this version of hybridmem has no page migrator"

static const struct reason unserved_keys[] = {
    {"size", OF_FSDAX},       {"keep", OF_FSDAX},   {"fast", OF_MIGRATE},      {"period", OF_MIGRATE},
    {"interval", OF_MIGRATE}, {"bins", OF_MIGRATE}, {"algorithm", OF_MIGRATE}, {"source", OF_MIGRATE},
    {"overhead", OF_MIGRATE}, {"rate", OF_MIGRATE},
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

static int find_reason(const struct reason *table, int rows, struct word word)
{
    for (int i = 0; i < rows; i++)
        if (is_word(word, table[i].name))
            return i;
    return -1;
}

static int fail_unserved(const char *text, const struct reason *row, struct hm_error *error)
{
    return hm_fail(error, ENOTSUP, "--hybrid-mem=%.*s: %s is not available on this cluster: %s", SHOWN, text, row->name,
                   row->why);
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
    int unserved = find_reason(unserved_modes, N_ROWS(unserved_modes), word);
    if (unserved >= 0)
        return fail_unserved(text, &unserved_modes[unserved], error);
    if (word.length == 0)
        return hm_fail(error, EINVAL, "--hybrid-mem=%.*s: the mode is empty: use " MODES, SHOWN, text);
    return hm_fail(error, EINVAL, "--hybrid-mem=%.*s: unknown mode \"%.*s\": use " MODES, SHOWN, text, SHOW(word));
}

static int parse_socket(const char *text, struct word value, struct hm_request *request, struct hm_error *error)
{
    for (int i = 0; i < N_ROWS(sockets); i++) {
        if (is_word(value, sockets[i].name)) {
            request->socket = sockets[i].socket;
            return 0;
        }
    }
    return hm_fail(error, EINVAL, "--hybrid-mem=%.*s: socket wants local, remote or all, not \"%.*s\"", SHOWN, text,
                   SHOW(value));
}

/* One KEY=VALUE. `has_socket`: the key was there before. */
static int parse_key(const char *text, struct word part, bool *has_socket, struct hm_request *request,
                     struct hm_error *error)
{
    const char *sign = memchr(part.text, '=', (size_t)part.length);
    struct word key = {part.text, sign ? (int)(sign - part.text) : part.length};
    struct word value = {part.text + key.length + 1, part.length - key.length - 1};

    if (part.length == 0)
        return hm_fail(error, EINVAL, "--hybrid-mem=%.*s: a part after a comma is empty: write MODE or MODE,KEY=VALUE",
                       SHOWN, text);
    int unserved = find_reason(unserved_keys, N_ROWS(unserved_keys), key);
    if (unserved >= 0)
        return fail_unserved(text, &unserved_keys[unserved], error);
    if (!is_word(key, "socket"))
        return hm_fail(error, EINVAL,
                       "--hybrid-mem=%.*s: unknown key \"%.*s\": use socket=local, socket=remote or socket=all", SHOWN,
                       text, SHOW(key));
    if (request->mode == HM_MODE_OFF)
        return hm_fail(error, EINVAL, "--hybrid-mem=%.*s: off takes no key, and here is \"%.*s\": write off alone",
                       SHOWN, text, SHOW(key));
    if (!sign)
        return hm_fail(error, EINVAL, "--hybrid-mem=%.*s: socket wants a value: write socket=local, remote or all",
                       SHOWN, text);
    if (*has_socket)
        return hm_fail(error, EINVAL, "--hybrid-mem=%.*s: socket is there twice: write it once", SHOWN, text);
    *has_socket = true;
    return parse_socket(text, value, request, error);
}

static struct word word_until_comma(const char *text)
{
    return (struct word){text, (int)strcspn(text, ",")};
}

int hm_request_parse(const char *text, struct hm_request *request, struct hm_error *error)
{
    bool has_socket = false;
    memset(request, 0, sizeof(*request));
    size_t length = strlen(text);
    if (length >= sizeof(request->text))
        return hm_fail(error, EINVAL, "--hybrid-mem=%.*s...: %zu characters are too many: write at most %zu", SHOWN,
                       text, length, sizeof(request->text) - 1);

    struct word word = word_until_comma(text);
    if (parse_mode(text, word, request, error) < 0)
        return -1;
    while (word.text[word.length] == ',') {
        word = word_until_comma(word.text + word.length + 1);
        if (parse_key(text, word, &has_socket, request, error) < 0)
            return -1;
    }
    memcpy(request->text, text, length + 1);
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
    return "MODE[,socket=local|remote|all]\n"
           "  off         nothing is touched\n"
           "  fast, slow  all memory in that tier\n"
           "  dram, pmem, cxl, hbm\n"
           "              all memory in the tier of that kind\n"
           "  interleave  pages alternate over both tiers\n"
           "  spill       fast tier first, the rest in the slow tier; weighted by\n"
           "              bandwidth where the tiers have channels of their own\n"
           "  socket      which sockets' memory: those of the task's CPUs (local),\n"
           "              the others (remote), or all (default)\n";
}

const char *hm_request_mode_at(int n)
{
    return n >= 0 && n < N_ROWS(modes) ? modes[n].name : NULL;
}
