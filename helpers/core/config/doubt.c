/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out whether a user may be in a group that the C library does not report for them (lookup.h). */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "config.h"
#include "lookup.h"

static bool is_in(const struct hm_identity *identity, const char *name)
{
    for (char **group = identity->groups; group && *group; group++)
        if (strcmp(*group, name) == 0)
            return true;
    return false;
}

/* Is there no time for one more look-up? Then says so. */
static bool is_late(const struct hm_request *request, int64_t since_ms, struct hm_error *doubt)
{
    if (hm_clock_ms(CLOCK_MONOTONIC) - since_ms < HM_LOOKUP_ALL_S * 1000)
        return false;
    hm_fail(doubt, ETIMEDOUT,
            "--hybrid-mem=%.48s: hybridmem.conf has rules by group, and this node did not find out within %d s who is "
            "in these groups: use off",
            request->text, HM_LOOKUP_ALL_S);
    return true;
}

/*
 * The first look-up may have come while a directory service failed, and those of the groups when it was back. So this
 * looks the user up once more. Returns true, with a text, where that fails or finds them in a group against the
 * request.
 */
static bool doubts_first_look(const struct hm_config *config, const struct hm_request *request,
                              const struct hm_identity *identity, struct hm_error *doubt)
{
    struct hm_identity again;
    struct hm_error why = {0};
    const char *name;
    bool is_doubtful = false;
    if (hm_lookup_uid(identity->uid, &again, &why) != 0) {
        hm_fail(doubt, ENOENT, "--hybrid-mem=%.48s: hybridmem.conf has rules by group, and %s: use off", request->text,
                why.text);
        return true;
    }
    for (int at = 0; !is_doubtful && (name = hm_config_group_against(config, request, identity->name, &at));)
        if (is_in(&again, name) && !is_in(identity, name)) {
            hm_fail(doubt, ENOENT,
                    "--hybrid-mem=%.48s: hybridmem.conf has a rule for group \"%s\", and this node did not know at "
                    "once that you are in it: use off",
                    request->text, name);
            is_doubtful = true;
        }
    hm_identity_free(&again);
    return is_doubtful;
}

bool hm_lookup_doubts(const struct hm_config *config, const struct hm_request *request,
                      const struct hm_identity *identity, int64_t since_ms, struct hm_error *doubt)
{
    const char *name;
    gid_t gid;
    bool has_asked = false;
    for (int at = 0; (name = hm_config_group_against(config, request, identity->name, &at));) {
        struct hm_error why = {0};
        if (is_in(identity, name))
            continue;
        if (is_late(request, since_ms, doubt))
            return true;
        has_asked = true;
        if (hm_lookup_group(name, &gid, &why) == 0)
            continue;
        hm_fail(doubt, ENOENT,
                "--hybrid-mem=%.48s: hybridmem.conf has a rule for group \"%s\", and this node does not know who is in "
                "it (%s): use off",
                request->text, name, why.text);
        return true;
    }
    return has_asked && (is_late(request, since_ms, doubt) || doubts_first_look(config, request, identity, doubt));
}
