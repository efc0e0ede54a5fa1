/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of installed parts of hybridmem that more than one folder needs. */
#ifndef HM_BASE_INSTALLED_H
#define HM_BASE_INSTALLED_H

/* The library that sends large allocations to the slow tier: <pkglibdir>/libhybridmem-preload.so. */
const char *hm_preload_library(void);

/* The library that notes allocations for `hybridmem sites run`: <pkglibdir>/libhybridmem-sites.so. */
const char *hm_sites_library(void);

/* The library that places allocations by their sites: <pkglibdir>/libhybridmem-guide.so. */
const char *hm_guide_library(void);

/* The program that finds memory operands in code: <pkglibexecdir>/hybridmem-decode. */
const char *hm_decode_program(void);

#endif
