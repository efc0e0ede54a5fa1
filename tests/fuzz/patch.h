/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes a valid structure in the places that the input names: a fuzzer would hardly make up a whole valid one. The
 * input is a list of changes: two bytes for the place, one for the length (1 to 8), and the bytes.
 */
#ifndef PATCH_H
#define PATCH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline void patch(void *value, size_t size, const uint8_t *data, size_t left)
{
    uint16_t place;
    while (left > 3) {
        size_t length = 1 + data[2] % 8;
        memcpy(&place, data, sizeof(place));
        data += 3;
        left -= 3;
        length = length < left ? length : left;
        for (size_t i = 0; i < length; i++)
            ((uint8_t *)value)[(place + i) % size] = data[i];
        data += length;
        left -= length;
    }
}

#endif
