/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of sample sources: the words of source=, and what has to be known of a source before the migrator opens it.
 */
#ifndef HM_CORE_REQUEST_SOURCES_H
#define HM_CORE_REQUEST_SOURCES_H

#include <stdbool.h>

#define HM_SOURCE_NAME 16     /* longest name, with the end mark */
#define HM_SOURCE_AUTO "auto" /* in place of a name: the best source that works */

enum {
    HM_SAMPLING_STORES = 1 << 0,    /* its samples tell writes from reads */
    HM_SAMPLING_BROKER = 1 << 1,    /* it needs root's broker, hybridmem-damon */
    HM_SAMPLING_BALANCING = 1 << 2, /* it uses the kernel's hint faults, which need memory placed nearest node first */
};

struct hm_sampling_row {
    const char *name;
    unsigned has; /* HM_SAMPLING_... */
};

/* The n-th source, best first; NULL past the last. */
const struct hm_sampling_row *hm_sampling_at(int n);

/* Is this a word of source=: "auto", or the name of a source? */
bool hm_sampling_is_word(const char *word);

/* Has the source with this name one of these properties? False for "auto" and for unknown names. */
bool hm_sampling_has(const char *name, unsigned has);

/* Can the source that this word leads to have one of these properties? "auto" can lead to any source. */
bool hm_sampling_may_have(const char *name, unsigned has);

#endif
