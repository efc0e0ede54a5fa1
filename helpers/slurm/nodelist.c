/* SPDX-License-Identifier: Apache-2.0 */
#include "nodelist.h"

#include <stdint.h>
#include <string.h>

#define MOST_DIGITS 18 /* of a number in a range */

/* A part of a list; not terminated. */
struct part {
    const char *at, *end;
};

/* Reads at most MOST_DIGITS digits. Returns how many, 0 where there are more or none. */
static int read_number(struct part *part, uint64_t *number)
{
    int digits = 0;
    *number = 0;
    for (; part->at < part->end && *part->at >= '0' && *part->at <= '9'; part->at++, digits++) {
        if (digits == MOST_DIGITS)
            return 0;
        *number = *number * 10 + (uint64_t)(*part->at - '0');
    }
    return digits;
}

/* With how many digits does Slurm write this number of a range whose first number has `width` digits? */
static int digits_of(uint64_t number, int width)
{
    int digits = 1;
    for (; number >= 10; number /= 10)
        digits++;
    return digits > width ? digits : width;
}

/* Does one of the ranges in brackets have this number, written with so many digits? */
static bool has_number(struct part ranges, uint64_t number, int digits)
{
    while (ranges.at < ranges.end) {
        uint64_t first, last;
        int width = read_number(&ranges, &first);
        last = first;
        if (width > 0 && ranges.at < ranges.end && *ranges.at == '-') {
            ranges.at++;
            if (read_number(&ranges, &last) == 0)
                return false;
        }
        if (width == 0 || (ranges.at < ranges.end && *ranges.at != ','))
            return false;
        if (number >= first && number <= last && digits == digits_of(number, width))
            return true;
        ranges.at++;
    }
    return false;
}

/* Does this word of the list stand for the name? Each bracket takes at least one digit of the name; all lengths are
 * tried. */
static bool stands_for(struct part word, const char *name)
{
    for (; word.at < word.end && *word.at != '['; word.at++, name++)
        if (*word.at != *name)
            return false;
    if (word.at == word.end)
        return *name == '\0';
    const char *close = memchr(word.at, ']', (size_t)(word.end - word.at));
    uint64_t number = 0;
    for (int digits = 1; close && digits <= MOST_DIGITS && name[digits - 1] >= '0' && name[digits - 1] <= '9';
         digits++) {
        number = number * 10 + (uint64_t)(name[digits - 1] - '0');
        if (has_number((struct part){word.at + 1, close}, number, digits) &&
            stands_for((struct part){close + 1, word.end}, name + digits))
            return true;
    }
    return false;
}

bool hm_nodelist_has(const char *list, size_t length, const char *node)
{
    struct part word = {list, list};
    for (const char *end = list + length; node[0] && word.at < end; word.at = word.end + 1) {
        bool is_inside = false;
        for (word.end = word.at; word.end < end && (is_inside || *word.end != ','); word.end++)
            is_inside = *word.end == '[' || (is_inside && *word.end != ']');
        if (stands_for(word, node))
            return true;
    }
    return false;
}
