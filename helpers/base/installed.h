/* SPDX-License-Identifier: Apache-2.0 */
/* Where parts of hybridmem are installed that more than one folder names. */
#ifndef HM_BASE_INSTALLED_H
#define HM_BASE_INSTALLED_H

/* The library that sends allocations to the slow tier: <pkglibdir>/libhybridmem-preload.so. */
const char *hm_preload_library(void);

#endif
