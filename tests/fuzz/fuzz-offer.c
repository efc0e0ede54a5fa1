/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of the features that slurmctld offers of a node. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "inputtext.h"
#include "memmode/decide/offer.h"

#define KEY " AvailableFeatures="
#define FEATURE "memmode=cache"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int count(const char *list, size_t length)
{
    int n = 0;
    for (size_t at = 0; at < length; at++) {
        size_t one = strcspn(list + at, ", \n");
        n += one == strlen(FEATURE) && strncmp(list + at, FEATURE, one) == 0;
        at += one;
    }
    return n;
}

/* The rest is without the feature, no longer than the list, and found says whether the list had it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char rest[64];
    char *text = input_text(data, size);
    if (!text)
        return 0;
    int found = hm_offer_without(text, FEATURE, rest, sizeof(rest));
    const char *list = strstr(text, KEY);
    if (found >= 0 && !list)
        abort();
    if (found >= 0) {
        list += strlen(KEY);
        size_t length = strcspn(list, " \n");
        if (strlen(rest) > length || count(rest, strlen(rest)) > 0 || (count(list, length) > 0) != (found == 1))
            abort();
    }
    if (hm_offer_is_up(text) && !strstr(text, " State="))
        abort();
    free(text);
    return 0;
}
