/* SPDX-License-Identifier: Apache-2.0 */
#include "choose.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "namespace/pmem/mark.h"
#include "namespace/pmem/overdue.h"
#include "namespace/pmem/wiped.h"

/* Is it a kept namespace that was never finished, or is half removed? A namespace without a device may have been
 * disabled by an administrator, so it stays until its age is over. If its user asks for it before, kept.c tries to give
 * it a device again, and then looks whether it is whole. */
static bool is_unfinished(const struct hm_namespace *namespace)
{
    char filesystem[HM_MARK_FS];
    return namespace->device[0] && hm_mark_read(namespace->device, &namespace->owner, filesystem, NULL) == 0;
}

/* Is this kept namespace left over from a crash? The namespaces that a user keeps are made together, as a set. If one
 * of a set is unfinished, all of the set is left over. A label without size is left over as well, but as it is no
 * namespace, the others of its set are not. */
static bool is_rest(const struct hm_namespace *owned, int n, const struct hm_namespace *one)
{
    const struct hm_owner *owner = &one->owner;
    for (int i = 0; i < n && one->bytes > 0; i++)
        if (owned[i].bytes > 0 && hm_owner_is_of_user(&owned[i].owner, owner->cluster, owner->uid) &&
            owned[i].owner.minute == owner->minute && is_unfinished(&owned[i]))
            return true;
    return one->bytes == 0;
}

static bool is_chosen(const struct hm_choice *choice, const struct hm_namespace *owned, int n,
                      const struct hm_namespace *one)
{
    const struct hm_owner *owner = &one->owner;
    if (choice->whose == HM_CHOICE_OF_JOB)
        return hm_owner_is_of_job(owner, choice->cluster, choice->job_id, choice->restart);
    if (choice->whose == HM_CHOICE_OF_USER)
        return hm_owner_is_of_user(owner, choice->cluster, choice->uid);
    if (!hm_owner_is_of_cluster(owner, choice->cluster) || hm_living_has(choice->living, owner))
        return false;
    return owner->kind == HM_OWNER_JOB || hm_overdue_is_due(choice->config, choice->notes, one, choice->now_s) ||
           is_rest(owned, n, one);
}

int hm_choose_owned(struct hm_namespace **owned, struct hm_error *error)
{
    struct hm_pmem *pmem = NULL;
    *owned = NULL;
    int n = hm_pmem_open(&pmem, error) == 0 ? hm_pmem_owned(pmem, owned, error) : -1;
    int number = errno;
    hm_pmem_close(pmem);
    errno = number;
    return n;
}

/* Note what is past its age. A reap that cannot note it removes the rest all the same. */
static void note_overdue(const struct hm_choice *choice, const struct hm_namespace *owned, int n)
{
    struct hm_error why;
    if (choice->whose == HM_CHOICE_OF_NOBODY &&
        hm_overdue_note(choice->config, choice->notes, owned, n, choice->now_s, &why) != 0)
        fprintf(stderr, "hybridmem namespace: what is past its age stays: %s\n", why.text);
}

int hm_choose(const struct hm_choice *choice, struct hm_namespace **chosen, struct hm_error *error)
{
    struct hm_namespace *owned;
    int count = 0;
    int n = hm_choose_owned(&owned, error);
    if (n >= 0) {
        hm_wiped_tidy(owned, n);
        note_overdue(choice, owned, n);
    }
    *chosen = n > 0 ? calloc((size_t)n, sizeof(**chosen)) : NULL;
    if (n > 0 && !*chosen)
        n = hm_fail(error, ENOMEM, "no memory for %d namespaces", n);
    for (int i = 0; i < n; i++)
        if (is_chosen(choice, owned, n, &owned[i]))
            (*chosen)[count++] = owned[i];
    free(owned);
    return n < 0 ? -1 : count;
}
