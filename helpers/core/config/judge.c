/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether the rules of the configuration allow a user a request (identity.h). */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "config.h"
#include "identity.h"

static bool has_rule(const struct hm_config *config, enum hm_rule_kind kind)
{
    for (int i = 0; i < config->n_rules; i++)
        if (config->rule[i].kind == kind && config->rule[i].has_modes)
            return true;
    return false;
}

bool hm_identity_is_needed(const struct hm_config *config)
{
    return has_rule(config, HM_RULE_USER) || has_rule(config, HM_RULE_GROUP);
}

/* Without the name it is not known which rule applies. So the job gets only what every rule allows: off. */
static int fail_unknown(const struct hm_request *request, const char *what, struct hm_error *error)
{
    return hm_fail(
        error, ENOENT,
        "--hybrid-mem=%.48s: hybridmem.conf has rules by %s, and this node does not know the job's %s: use off",
        request->text, what, what);
}

/*
 * Is this a user's whole name? Where a node cannot look the user up, Slurm may give "nobody" or the user's number
 * instead. A name that fills its place in the job's entry may be cut.
 */
static bool is_user_name(const char *user)
{
    return user[strspn(user, "0123456789")] && strcmp(user, "nobody") != 0 && strlen(user) < HM_IDENTITY_NAME - 1;
}

int hm_identity_judge(const struct hm_config *config, const struct hm_request *request, const struct hm_asker *asker,
                      struct hm_error *error)
{
    static const char *const no_groups[] = {NULL};
    const struct hm_identity *identity = asker->identity;
    const char *account = asker->account[0] ? asker->account : NULL;
    const char *partition = asker->partition[0] ? asker->partition : NULL;
    if (request->mode == HM_MODE_OFF)
        return 0;
    if (!account && has_rule(config, HM_RULE_ACCOUNT))
        return fail_unknown(request, "account", error);
    if (!partition && has_rule(config, HM_RULE_PARTITION))
        return fail_unknown(request, "partition", error);
    if (identity && hm_config_allows(config, request, identity->name, (const char *const *)identity->groups, account,
                                     partition, error) != 0)
        return -1;
    if (identity)
        return asker->doubt[0] ? hm_fail(error, ENOENT, "%s", asker->doubt) : 0;
    if (has_rule(config, HM_RULE_GROUP) || (!is_user_name(asker->user) && has_rule(config, HM_RULE_USER)))
        return hm_fail(error, ENOENT, "%s", asker->unknown);
    return hm_config_allows(config, request, asker->user, no_groups, account, partition, error);
}
