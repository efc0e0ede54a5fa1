/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a program that was compiled by hybridmem-cc tells the preload libraries which site allocates: each of its objects
 * has this variable, weak, of which all of a process have one. It has the site's id during each call of an allocation
 * function, and else 0; after one that an exception has left, once a function with such calls in its file sees it. A
 * program without it has that of the preload library, which is 0 always; one that runs without the libraries writes it
 * in vain.
 */
#ifndef HM_SITES_GIVEN_H
#define HM_SITES_GIVEN_H

#define HM_SITES_GIVEN hybridmem_site
/* An id is a hash below these bits: the length of the call path that it stands for, 1 to HM_SITES_GIVEN_MOST; and
 * whether the function that is called has memory of malloc, and so a frame of its own. */
#define HM_SITES_GIVEN_MOST 10
#define HM_SITES_GIVEN_LENGTH_BIT 60
#define HM_SITES_GIVEN_INNER_BIT 59

#ifndef __cplusplus
#include <stdint.h>

extern __attribute__((visibility("default"), tls_model("initial-exec"))) _Thread_local uint64_t HM_SITES_GIVEN;

/* How many return addresses, from that of malloc on, the site stands for. */
static inline unsigned hm_sites_given_frames(uint64_t id)
{
    return (unsigned)(id >> HM_SITES_GIVEN_LENGTH_BIT) + (unsigned)(id >> HM_SITES_GIVEN_INNER_BIT & 1);
}
#endif

#endif
