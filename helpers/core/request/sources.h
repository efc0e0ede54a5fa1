/* SPDX-License-Identifier: Apache-2.0 */
/* The words of source=, and what has to be known of a source before the migrator opens it. */
#ifndef HM_CORE_REQUEST_SOURCES_H
#define HM_CORE_REQUEST_SOURCES_H

#include <stdbool.h>

#define HM_SOURCE_NAME 16     /* longest name, with the end mark */
#define HM_SOURCE_AUTO "auto" /* for the name: the best that works */

enum {
    HM_SAMPLING_STORES = 1 << 0,    /* its samples tell writes from reads */
    HM_SAMPLING_BROKER = 1 << 1,    /* root's DAMON broker has to run */
    HM_SAMPLING_BALANCING = 1 << 2, /* it sees what the kernel's hint faults reach: placement by distance */
};

struct hm_sampling_row {
    const char *name;
    unsigned has; /* HM_SAMPLING_... */
};

/* The n-th source, best first; NULL past the last. */
const struct hm_sampling_row *hm_sampling_at(int n);

/* Is it a word of source=: "auto", or a source's name? */
bool hm_sampling_is_word(const char *word);

/* Has the source of this name one of these? False for "auto" and for what is no source. */
bool hm_sampling_has(const char *name, unsigned has);

/* The same, but "auto" may turn out to be each of the sources. */
bool hm_sampling_may_have(const char *name, unsigned has);

#endif
