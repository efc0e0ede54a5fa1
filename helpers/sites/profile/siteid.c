/* SPDX-License-Identifier: Apache-2.0 */
#include "siteid.h"

#include <string.h>

uint64_t hm_siteid_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15); /* Fibonacci hashing, in rounds */
    return hash ^ (hash >> 29);
}

static uint64_t mix_bytes(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < n; i++)
        hash = hm_siteid_mix(hash, at[i]);
    return hm_siteid_mix(hash, n);
}

uint64_t hm_siteid(const struct hm_siteid_frame *frame, unsigned n)
{
    uint64_t hash = n;
    for (unsigned i = 0; i < n; i++) {
        const char *path = frame[i].path, *slash = path ? strrchr(path, '/') : NULL;
        if (frame[i].id_length > 0)
            hash = mix_bytes(hash, frame[i].id, frame[i].id_length);
        else if (path)
            hash = mix_bytes(hash, slash ? slash + 1 : path, strlen(slash ? slash + 1 : path));
        hash = hm_siteid_mix(hash, frame[i].offset);
    }
    return hash ? hash : 1;
}
