/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that a kernel's ring or area is made of, for the fuzz targets that read one. */
#ifndef AREA_H
#define AREA_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Makes an area with a power of two of bytes, 4096 at most, that begins with the input. It has exactly that size, so
 * that a read past its end is seen. Free it; NULL: there is no memory. */
static inline uint8_t *make_area(uint8_t size_bits, const uint8_t *data, size_t size, size_t *bytes)
{
    *bytes = (size_t)1 << (size_bits % 13);
    uint8_t *area = calloc(1, *bytes);
    if (area)
        memcpy(area, data, size < *bytes ? size : *bytes);
    return area;
}

#endif
