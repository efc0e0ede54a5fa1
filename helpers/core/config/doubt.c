/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out whether a user may be in a group that the C library does not report for them (lookup.h). */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "config.h"
#include "lookup.h"

static bool is_in(const struct hm_identity *identity, const char *name)
{
    for (char **group = identity->groups; group && *group; group++)
        if (strcmp(*group, name) == 0)
            return true;
    return false;
}

bool hm_lookup_doubts(const struct hm_config *config, const struct hm_request *request,
                      const struct hm_identity *identity, struct hm_error *doubt)
{
    const char *name;
    gid_t gid;
    for (int at = 0; (name = hm_config_group_against(config, request, identity->name, &at));) {
        struct hm_error why = {0};
        if (is_in(identity, name) || hm_lookup_group(name, &gid, &why) == 0)
            continue;
        hm_fail(doubt, ENOENT,
                "--hybrid-mem=%.48s: hybridmem.conf has a rule for group \"%s\", and this node does not know who is in "
                "it (%s): use off",
                request->text, name, why.text);
        return true;
    }
    return false;
}
