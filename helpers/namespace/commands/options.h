/* SPDX-License-Identifier: Apache-2.0 */
/* The options of hybridmem-namespace that have a value: which commands take them, and how their text is read. */
#ifndef HM_NAMESPACE_COMMANDS_OPTIONS_H
#define HM_NAMESPACE_COMMANDS_OPTIONS_H

#include "commandline.h"

#define HM_NAMESPACE_OPTIONS 15

struct hm_namespace_option {
    const char *name, *value, *about;
    int (*take)(struct hm_namespace_request *request, const char *text, struct hm_error *error);
    unsigned wanted_by, taken_by; /* the commands that need it, and those that may have it: 1 << each */
};

extern const struct hm_namespace_option hm_namespace_option[HM_NAMESPACE_OPTIONS];

#endif
