/* SPDX-License-Identifier: Apache-2.0 */
#include "algorithms.h"

#include <string.h>

#include "migrator/rivals/rivals.h"

bool hm_replay_algorithm_at(int n, const char **name, const char **about)
{
    int ours = 0;
    for (; ours <= n; ours++)
        if (!hm_algorithm_at(ours, name, about))
            break;
    if (ours > n)
        return n >= 0;
    const struct hm_algorithm *rival = hm_rival_at(n - ours);
    if (!rival)
        return false;
    *name = rival->name;
    *about = rival->about;
    return true;
}

/* The rival of this name; NULL: there is none. */
static const struct hm_algorithm *find_rival(const char *name)
{
    for (int i = 0; hm_rival_at(i); i++)
        if (strcmp(hm_rival_at(i)->name, name) == 0)
            return hm_rival_at(i);
    return NULL;
}

bool hm_replay_is_rival(const char *name)
{
    return find_rival(name) != NULL;
}

struct hm_decider *hm_replay_decider(const struct hm_decider_options *options, struct hm_error *error)
{
    const struct hm_algorithm *rival = find_rival(options->algorithm);
    return rival ? hm_decider_new_of(rival, options, error) : hm_decider_new(options, error);
}
