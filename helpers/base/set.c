/* SPDX-License-Identifier: Apache-2.0 */
#include "set.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WORDS (HM_SET_BITS / 64)

void hm_set_clear(struct hm_set *set)
{
    memset(set, 0, sizeof(*set));
}

void hm_set_add(struct hm_set *set, unsigned member)
{
    if (member < HM_SET_BITS)
        set->word[member / 64] |= UINT64_C(1) << member % 64;
}

void hm_set_remove(struct hm_set *set, unsigned member)
{
    if (member < HM_SET_BITS)
        set->word[member / 64] &= ~(UINT64_C(1) << member % 64);
}

bool hm_set_has(const struct hm_set *set, unsigned member)
{
    return member < HM_SET_BITS && set->word[member / 64] >> member % 64 & 1;
}

bool hm_set_is_empty(const struct hm_set *set)
{
    return hm_set_next(set, 0) < 0;
}

bool hm_set_equal(const struct hm_set *a, const struct hm_set *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

bool hm_set_within(const struct hm_set *a, const struct hm_set *b)
{
    for (int i = 0; i < WORDS; i++)
        if (a->word[i] & ~b->word[i])
            return false;
    return true;
}

bool hm_set_intersects(const struct hm_set *a, const struct hm_set *b)
{
    for (int i = 0; i < WORDS; i++)
        if (a->word[i] & b->word[i])
            return true;
    return false;
}

void hm_set_union(struct hm_set *into, const struct hm_set *other)
{
    for (int i = 0; i < WORDS; i++)
        into->word[i] |= other->word[i];
}

void hm_set_intersect(struct hm_set *into, const struct hm_set *other)
{
    for (int i = 0; i < WORDS; i++)
        into->word[i] &= other->word[i];
}

void hm_set_subtract(struct hm_set *from, const struct hm_set *other)
{
    for (int i = 0; i < WORDS; i++)
        from->word[i] &= ~other->word[i];
}

unsigned hm_set_count(const struct hm_set *set)
{
    unsigned count = 0;
    for (int i = 0; i < WORDS; i++)
        count += (unsigned)__builtin_popcountll(set->word[i]);
    return count;
}

int hm_set_next(const struct hm_set *set, unsigned from)
{
    for (unsigned i = from / 64; i < WORDS; i++) {
        uint64_t left = set->word[i];
        if (i == from / 64)
            left &= ~UINT64_C(0) << from % 64;
        if (left)
            return (int)(i * 64 + (unsigned)__builtin_ctzll(left));
    }
    return -1;
}

/* Read a number below HM_SET_BITS at *at and move *at past it. Returns the number, or -1. */
static int read_member(const char **at)
{
    unsigned value = 0;
    const char *digit = *at;
    for (; *digit >= '0' && *digit <= '9'; digit++) {
        value = value * 10 + (unsigned)(*digit - '0');
        if (value >= HM_SET_BITS)
            return -1;
    }
    if (digit == *at)
        return -1;
    *at = digit;
    return (int)value;
}

/* Read "3" or "0-3", which must end at a comma or at the end of the text. */
static int read_range(const char **at, struct hm_set *set)
{
    int first = read_member(at);
    int last = first;
    if (first >= 0 && **at == '-') {
        ++*at;
        last = read_member(at);
    }
    if (first < 0 || last < first || (**at != ',' && **at != '\0'))
        return -1;
    for (int member = first; member <= last; member++)
        hm_set_add(set, (unsigned)member);
    return 0;
}

int hm_set_parse(struct hm_set *set, const char *text, struct hm_error *error)
{
    const char *at = text;
    hm_set_clear(set);
    while (*at) {
        const char *part = at;
        if (read_range(&at, set) == 0) {
            if (*at == '\0')
                break;
            if (*++at != '\0')
                continue;
            part = at;
        }
        hm_set_clear(set);
        return hm_fail(error, EINVAL,
                       "\"%.60s\": \"%.*s\" is not a number or range of 0 to %d; write a list like 0-3,8", text,
                       (int)strcspn(part, ",") > 20 ? 20 : (int)strcspn(part, ","), part, HM_SET_BITS - 1);
    }
    return 0;
}

char *hm_set_format(const struct hm_set *set, char *out, size_t size)
{
    size_t used = 0;
    if (size == 0)
        return out;
    out[0] = '\0';
    for (int first = hm_set_next(set, 0); first >= 0;) {
        int last = first;
        while (hm_set_has(set, (unsigned)last + 1))
            last++;
        char part[32];
        int length = first == last ? snprintf(part, sizeof(part), "%s%d", used ? "," : "", first)
                                   : snprintf(part, sizeof(part), "%s%d-%d", used ? "," : "", first, last);
        int next = hm_set_next(set, (unsigned)last + 1);
        /* Keep room for "..." while more members follow, so that a cut list never looks complete. */
        if (used + (size_t)length + (next >= 0 ? 4 : 1) > size) {
            snprintf(out + used, size - used, "...");
            break;
        }
        memcpy(out + used, part, (size_t)length + 1);
        used += (size_t)length;
        first = next;
    }
    return out;
}
