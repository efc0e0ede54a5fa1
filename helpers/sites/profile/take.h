/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes the members of a JSON object, of which nothing is believed. What is wrong is said once, with its place; then
 * the reader has failed, and what is taken is 0 or NULL.
 */
#ifndef HM_SITES_TAKE_H
#define HM_SITES_TAKE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define HM_TAKE_PLACE 128

/* Where in the file something is wrong. */
struct hm_taker {
    const char *path;
    char place[HM_TAKE_PLACE]; /* "" or such as "sites[3]." */
    struct hm_error *error;
    bool has_failed;
};

/* The object that the text is, `what` in words, such as "plan". Returns a new reference, or NULL: the reader has
 * failed.
 */
json_t *hm_take_all(struct hm_taker *taker, const char *text, size_t length, const char *what);

/* Says that `key` has to be `wanted`. */
void hm_take_fail(struct hm_taker *taker, const char *key, const char *wanted);
/* There is no memory. */
void hm_take_fail_memory(struct hm_taker *taker);

/* A whole number from `least` to `most`; 0 where it is none. */
int64_t hm_take_count(struct hm_taker *taker, const json_t *from, const char *key, int64_t least, int64_t most);
/* The same up to HM_PROFILE_MOST, where null is 0. */
uint64_t hm_take_count_or_null(struct hm_taker *taker, const json_t *from, const char *key, int64_t least);
/* A number that is not negative. */
double hm_take_real(struct hm_taker *taker, const json_t *from, const char *key);
/* The same, where null is NaN. */
double hm_take_real_or_null(struct hm_taker *taker, const json_t *from, const char *key);
/* A text, to be freed. NULL: it is wrong, or null where that is allowed. */
char *hm_take_text(struct hm_taker *taker, const json_t *from, const char *key, bool may_be_null);
/* Does a control character of UTF-8 begin here: up to U+001F, or U+007F to U+009F? A terminal obeys them. Pure. */
bool hm_take_is_control(const char *at);
/* A text that is written to terminals as it is. */
char *hm_take_line(struct hm_taker *taker, const json_t *from, const char *key, bool may_be_null);
/* The member "build_id"; NULL: null, or wrong. */
char *hm_take_build_id(struct hm_taker *taker, const json_t *from);
bool hm_take_is_hexadecimal(const char *text);
const json_t *hm_take_object(struct hm_taker *taker, const json_t *from, const char *key);
/* An array of at most `most` objects, and room for as many structs of `size` bytes. NULL where it is empty or wrong. */
void *hm_take_array(struct hm_taker *taker, const json_t *from, const char *key, size_t most, size_t size, size_t *n);

#endif
