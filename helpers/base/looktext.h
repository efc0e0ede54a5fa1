/* SPDX-License-Identifier: Apache-2.0 */
/* Looks of a child process (look.h) that leave a text: what was found, or why something could not be done. */
#ifndef HM_BASE_LOOKTEXT_H
#define HM_BASE_LOOKTEXT_H

#include <stddef.h>

#include "error.h"

/* hm_look, where `found` is a text of `size` bytes. It begins empty, and is terminated also where the child was killed
 * while it wrote. */
int hm_looktext_find(int (*look)(const void *question, void *text), const void *question, char *text, size_t size,
                     int patience_ms);

/* Something that may take for ever, so that a child process does it. */
struct hm_lookwork {
    int (*run)(const void *question, void *why); /* as hm_look calls it; `why` is a struct hm_error, "" at first */
    const void *question;
    int patience_ms;
    const char *cannot; /* begins the error where the child does not say why it failed: "cannot remove ..." */
    const char *late;   /* why it is not done by then */
};

/*
 * Do it. Returns 0, or -1 with the child's errno and text. A child that was late (ETIMEDOUT) is told as "CANNOT within
 * 5 s: LATE"; one that ended without a text, or was not there, as "CANNOT in a process of its own: Input/output error".
 * Only for programs with one thread.
 */
int hm_looktext_do(const struct hm_lookwork *work, struct hm_error *error);

#endif
