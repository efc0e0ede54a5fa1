/* SPDX-License-Identifier: Apache-2.0 */
/* Can a library of ours be loaded before a program (LD_PRELOAD)? */
#ifndef HM_BASE_PRELOADABLE_H
#define HM_BASE_PRELOADABLE_H

#include "error.h"

enum hm_preloadable {
    HM_PRELOADABLE,         /* or nobody can tell, as of what is no program: the kernel does */
    HM_PRELOADABLE_IGNORES, /* it has no loader, and so runs without the library */
    HM_PRELOADABLE_BREAKS,  /* with the library it would end at its start */
};

#define HM_PRELOADABLE_WHY 256

/*
 * Looks at a program's file, and at the interpreter's where it is a script. Where the answer is no, `why` goes on
 * behind the program's name, as in "is linked statically"; else it is "".
 */
enum hm_preloadable hm_preloadable(const char *path, char why[HM_PRELOADABLE_WHY]);
/* The same for an open file, which stays the caller's. Negative: it cannot be opened, so nobody can tell. */
enum hm_preloadable hm_preloadable_open(int fd, char why[HM_PRELOADABLE_WHY]);

/* Puts a library into this process's LD_PRELOAD, before others that are there. Returns 0, or -1 with a text. */
int hm_preloadable_put(const char *library, struct hm_error *error);

#endif
