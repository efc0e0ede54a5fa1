/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the rules of the preload library, and applies them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/size.h"
#include "preload.h"

#define SIZE "HYBRIDMEM_ISOLATE_SIZE"
#define CALLERS "HYBRIDMEM_ISOLATE_CALLERS"
#define SHOWN 60          /* characters of a variable that an error shows */
#define LARGEST_NODE 1023 /* largest number of a node, or of a socket */

/*
 * Copy the text up to one of the characters `ends`, cut at `size` bytes. Returns the text after it, or NULL at the end.
 */
static const char *next_part(const char *text, const char *ends, char *part, size_t size)
{
    size_t length = strcspn(text, ends);
    snprintf(part, size, "%.*s", (int)(length < size ? length : size), text);
    return text[length] ? text + length + 1 : NULL;
}

static int fail_nodes(const char *text, struct hm_error *error)
{
    return hm_fail(error, EINVAL,
                   HM_PRELOAD_NODES ": \"%.*s\" is wrong: write fast=NODE@SOCKET,... slow=NODE@SOCKET,...", SHOWN,
                   text);
}

static int add_node(struct hm_layout *layout, const char *word, bool is_fast)
{
    char number[16];
    uint64_t node, socket;
    const char *sign = strchr(word, '@');
    size_t length = sign ? (size_t)(sign - word) : strlen(word);
    if (length >= sizeof(number) || layout->n_nodes == HM_ALLOC_NODES)
        return -1;
    snprintf(number, sizeof(number), "%.*s", (int)length, word);
    if (hm_size_parse_number(number, 0, LARGEST_NODE, &node, NULL) < 0 ||
        (sign && hm_size_parse_number(sign + 1, 0, LARGEST_NODE, &socket, NULL) < 0))
        return -1;
    layout->node[layout->n_nodes++] =
        (struct hm_layout_node){.id = (int)node, .socket = sign ? (int)socket : -1, .is_fast = is_fast};
    return 0;
}

int hm_preload_parse_nodes(const char *text, struct hm_layout *layout, struct hm_error *error)
{
    char tier[1024], word[32];
    memset(layout, 0, sizeof(*layout));
    layout->fast_share = 1;
    for (const char *rest = text; rest;) {
        rest = next_part(rest, " ", tier, sizeof(tier));
        bool is_fast = strncmp(tier, "fast=", 5) == 0;
        if (!is_fast && strncmp(tier, "slow=", 5) != 0)
            return fail_nodes(text, error);
        for (const char *list = tier + 5; list;) {
            list = next_part(list, ",", word, sizeof(word));
            if (add_node(layout, word, is_fast) < 0)
                return fail_nodes(text, error);
        }
    }
    return 0;
}

int hm_preload_parse_size(const char *text, struct hm_preload_rules *rules, struct hm_error *error)
{
    struct hm_error why;
    uint64_t bytes = HM_PRELOAD_SIZE;
    if (text && hm_size_parse(text, &bytes, &why) < 0)
        return hm_fail(error, EINVAL, SIZE ": %s", why.text);
    if (bytes < HM_ALLOC_LEAST)
        return hm_fail(error, EINVAL, SIZE ": \"%.*s\" is too small: 128K is the least", SHOWN, text);
    rules->least_bytes = bytes;
    return 0;
}

static int parse_caller(const char *word, struct hm_preload_caller *caller)
{
    memset(caller, 0, sizeof(*caller));
    caller->is_slow = strncmp(word, "slow=", 5) == 0;
    if (!caller->is_slow && strncmp(word, "fast=", 5) != 0)
        return -1;
    const char *name = word + 5, *sign = strstr(name, "+0x");
    size_t length = sign ? (size_t)(sign - name) : strlen(name);
    if (length == 0 || length >= sizeof(caller->name))
        return -1;
    memcpy(caller->name, name, length);
    if (!sign)
        return 0;
    const char *digits = sign + 3;
    size_t count = strspn(digits, "0123456789abcdefABCDEF");
    if (count == 0 || count > 16 || digits[count])
        return -1;
    caller->has_offset = true;
    caller->offset = strtoull(digits, NULL, 16);
    return 0;
}

int hm_preload_parse_callers(const char *text, struct hm_preload_rules *rules, struct hm_error *error)
{
    char word[HM_PRELOAD_NAME + 32];
    rules->n_callers = 0;
    for (const char *rest = text; rest;) {
        rest = next_part(rest, ",", word, sizeof(word));
        if (rules->n_callers == HM_PRELOAD_CALLERS)
            return hm_fail(error, EINVAL, CALLERS ": more than %d rules", HM_PRELOAD_CALLERS);
        if (parse_caller(word, &rules->caller[rules->n_callers++]) < 0)
            return hm_fail(error, EINVAL,
                           CALLERS ": \"%.*s\" is wrong: write fast= or slow= and FUNCTION or MODULE+0xOFFSET", SHOWN,
                           word);
    }
    return 0;
}

static bool is_caller(const struct hm_preload_caller *caller, const struct hm_preload_site *site)
{
    if (!caller->has_offset)
        return site->function && strcmp(caller->name, site->function) == 0;
    const char *slash = site->module ? strrchr(site->module, '/') : NULL;
    const char *module = slash ? slash + 1 : site->module;
    return module && strcmp(caller->name, module) == 0 && caller->offset == site->offset;
}

bool hm_preload_is_slow(const struct hm_preload_rules *rules, size_t bytes, const struct hm_preload_site *site)
{
    if (!rules->is_on || bytes < HM_ALLOC_LEAST)
        return false;
    for (int i = 0; i < rules->n_callers && site; i++)
        if (is_caller(&rules->caller[i], site))
            return rules->caller[i].is_slow;
    return bytes >= rules->least_bytes;
}

void hm_preload_read(struct hm_preload_rules *rules)
{
    static struct hm_layout layout;
    struct hm_error error = {""};
    char line[HM_ERROR_TEXT + 32];
    const char *nodes = secure_getenv(HM_PRELOAD_NODES);
    memset(rules, 0, sizeof(*rules));
    if (!nodes)
        return;
    rules->is_on = hm_preload_parse_nodes(nodes, &layout, &error) == 0 &&
                   hm_preload_parse_size(secure_getenv(SIZE), rules, &error) == 0 &&
                   hm_preload_parse_callers(secure_getenv(CALLERS), rules, &error) == 0;
    if (rules->is_on)
        return;
    int length = snprintf(line, sizeof(line), "hybridmem: %s\n", error.text);
    if (length > 0 && write(STDERR_FILENO, line, (size_t)length) < 0)
        return; /* nobody reads standard error; the rules are off anyway */
}
