/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sentences for people in a place of limited size. One that is too long ends after a word, and "..." says that there
 * was more. Pure.
 */
#ifndef HM_BASE_FIT_H
#define HM_BASE_FIT_H

#include <stdarg.h>
#include <stddef.h>

/* Write the text (printf style) into `out`, which has room for `size` bytes, 8 at least, with the end mark. Returns the
 * length of what is there. */
size_t hm_fit(char *out, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
size_t hm_fit_list(char *out, size_t size, const char *format, va_list arguments) __attribute__((format(printf, 3, 0)));

#endif
