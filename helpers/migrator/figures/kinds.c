/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds.h"

const char *hm_memory_kind_name(enum hm_memory_kind kind)
{
    static const char *const names[HM_MEMORY_KINDS] = {"private", "shared", "file", "hugetlb", "program", "other"};
    return names[kind];
}
