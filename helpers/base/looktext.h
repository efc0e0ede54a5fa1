/* SPDX-License-Identifier: Apache-2.0 */
/* Has a child process look at or do something (look.h), and gets a text from it: what it found, or why it failed. */
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
    const char *late;   /* ends the error where the child was killed after patience_ms: what it may have waited for */
};

/*
 * Do it. Returns 0, or -1 with the errno of hm_look and a text: the child's own. If the child was killed (ETIMEDOUT),
 * the text is "CANNOT within 5 s: LATE". If the child left none, or could not be started, it is "CANNOT in a process of
 * its own: ", then what the errno means. Only for programs with one thread.
 */
int hm_looktext_do(const struct hm_lookwork *work, struct hm_error *error);

#endif
