/* SPDX-License-Identifier: Apache-2.0 */
#include "offer.h"

#include <stdio.h>
#include <string.h>

#define NOTHING "(null)" /* what Slurm writes where there are none */

/* The word after a key such as " State=", which is not terminated. NULL: there is none. */
static const char *word_of(const char *text, const char *key, size_t *length)
{
    const char *at = strstr(text, key);
    if (!at)
        return NULL;
    at += strlen(key);
    *length = strcspn(at, " \n");
    return at;
}

bool hm_offer_is_up(const char *text)
{
    static const char *const other[] = {"DOWN", "POWERING_UP", "REBOOT", "UNKNOWN"};
    char state[128];
    size_t length;
    const char *at = word_of(text, " State=", &length);
    if (!at || length >= sizeof(state))
        return false;
    snprintf(state, sizeof(state), "%.*s", (int)length, at);
    for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
        if (strstr(state, other[i]))
            return false;
    return true;
}

int hm_offer_without(const char *text, const char *feature, char *rest, size_t size)
{
    size_t length, used = 0, of_feature = strlen(feature);
    const char *at = word_of(text, " AvailableFeatures=", &length);
    int found = 0;
    rest[0] = '\0';
    if (!at || length >= size)
        return -1;
    for (const char *end = at + length; at < end; at++) {
        size_t one = strcspn(at, ", \n");
        if (one == of_feature && strncmp(at, feature, one) == 0)
            found = 1;
        else if (one != strlen(NOTHING) || strncmp(at, NOTHING, one) != 0)
            used += (size_t)snprintf(rest + used, size - used, "%s%.*s", used > 0 ? "," : "", (int)one, at);
        at += one;
    }
    return found;
}
