/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The places in the code of the step's processes, and the routes from them. A route is kept by the bytes of the code
 * around its place: so all processes that execute a program share it, wherever each has its code. Pure.
 */
#ifndef HM_MIGRATOR_SOURCES_CLOCKPLACES_H
#define HM_MIGRATOR_SOURCES_CLOCKPLACES_H

#include <stdbool.h>

#include "migrator/perf/route.h"

/* What a piece of code is known by; zeros: there is no code that can be read. */
struct hm_clock_key {
    uint64_t word[2];
};

static inline bool hm_clock_key_has_code(const struct hm_clock_key *key)
{
    return key->word[0] != 0;
}

struct hm_clock_places;

/* `seed`: a number that no user knows. Free with hm_clock_places_free. Returns NULL if there is no memory. */
struct hm_clock_places *hm_clock_places_new(uint64_t seed);
void hm_clock_places_free(struct hm_clock_places *places);

/*
 * Makes a key of 128 bits of all bytes of the piece. Two pieces of code do not have the same one by accident. If a user
 * made two that have, the addresses that the user's own processes access would be told wrongly.
 */
struct hm_clock_key hm_clock_places_key(const struct hm_clock_places *places, const struct hm_route_code *piece);
/* The key of the code at a place of a process, as far as it has been noted and is not forgotten; else NULL. */
const struct hm_clock_key *hm_clock_places_find(const struct hm_clock_places *places, uint32_t pid, uint64_t ip);
/* Notes the key of the code at a place. Returns it, as hm_clock_places_find does. */
const struct hm_clock_key *hm_clock_places_note(struct hm_clock_places *places, uint32_t pid, uint64_t ip,
                                                struct hm_clock_key key);
/* Forgets which code is at which place, but none of the routes. */
void hm_clock_places_forget(struct hm_clock_places *places);
/* Was this code noted as seen before, in any process? It is from now on. */
bool hm_clock_places_see(struct hm_clock_places *places, const struct hm_clock_key *key);
/* Returns whether the route of this code is known. It is in *route then, valid until the next call of _keep; NULL:
 * there is none. */
bool hm_clock_places_route(const struct hm_clock_places *places, const struct hm_clock_key *key,
                           const struct hm_route **route);
/* Keeps a copy of the route of this code; without a step, or without memory: that there is none. */
void hm_clock_places_keep(struct hm_clock_places *places, const struct hm_clock_key *key, const struct hm_route *route);

#endif
