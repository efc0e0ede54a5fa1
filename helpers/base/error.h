/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors for people: a function that fails returns -1, sets errno, and leaves one line of text that names the thing,
 * the value, and what would be right.
 */
#ifndef HM_BASE_ERROR_H
#define HM_BASE_ERROR_H

#include <stdbool.h>

#define HM_ERROR_TEXT 768

struct hm_error {
    char text[HM_ERROR_TEXT]; /* one line without a newline; "" while nothing has failed */
};

/*
 * Write the text (printf style, cut at HM_ERROR_TEXT, all but printable ASCII escaped) into `error` (NULL is allowed:
 * the text is dropped), set errno to `number`, and return -1. So callers write `return hm_fail(error, EINVAL, "...")`.
 */
int hm_fail(struct hm_error *error, int number, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same with ": strerror(errno)" after the text; errno is kept. */
int hm_fail_errno(struct hm_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Was a call refused for want of memory, processes or descriptors (EAGAIN, ENOMEM, EMFILE, ENFILE)? It may succeed
 * later. */
bool hm_is_shortage(int number);

#endif
