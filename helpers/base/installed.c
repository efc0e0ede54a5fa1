/* SPDX-License-Identifier: Apache-2.0 */
#include "installed.h"

const char *hm_preload_library(void)
{
    return HM_PKGLIBDIR "/libhybridmem-preload.so";
}

const char *hm_sites_library(void)
{
    return HM_PKGLIBDIR "/libhybridmem-sites.so";
}

const char *hm_guide_library(void)
{
    return HM_PKGLIBDIR "/libhybridmem-guide.so";
}

const char *hm_decode_program(void)
{
    return HM_PKGLIBEXECDIR "/hybridmem-decode";
}
