/* SPDX-License-Identifier: Apache-2.0 */
#include "outcome.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/fit.h"

_Static_assert(sizeof(struct hm_outcome) < 64 * 1024, "the shared piece stays small");

struct hm_outcome *hm_outcome_map(void)
{
    void *memory = mmap(NULL, sizeof(struct hm_outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void hm_outcome_unmap(struct hm_outcome *outcome)
{
    if (outcome)
        munmap(outcome, sizeof(*outcome));
}

bool hm_outcome_is_first(uint32_t *said)
{
    return !said || __atomic_exchange_n(said, 1, __ATOMIC_ACQ_REL) == 0;
}

bool hm_outcome_begin_part(uint32_t *has)
{
    uint32_t none = 0;
    return __atomic_compare_exchange_n(has, &none, 2, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void hm_outcome_keep_plan(struct hm_outcome *outcome, const struct hm_plan *plan)
{
    if (!outcome || !hm_outcome_begin_part(&outcome->has_plan))
        return;
    outcome->plan = *plan;
    __atomic_store_n(&outcome->has_plan, 1, __ATOMIC_RELEASE);
}

void hm_outcome_warn(struct hm_outcome *outcome, const char *format, ...)
{
    char text[HM_WARNING];
    va_list arguments;
    if (!outcome)
        return;
    va_start(arguments, format);
    hm_fit_list(text, sizeof(text), format, arguments);
    va_end(arguments);
    uint32_t slot = __atomic_fetch_add(&outcome->n_warnings, 1, __ATOMIC_ACQ_REL);
    if (slot < HM_OUTCOME_WARNINGS)
        memcpy(outcome->warning[slot], text, sizeof(text));
}
