/* SPDX-License-Identifier: Apache-2.0 */
#include "clockplaces.h"

#include <stdlib.h>
#include <string.h>

/* Each a power of two. Of the entries at the same index, the last ones that came are remembered. */
#define PLACES 4096 /* indexes for places of all processes */
#define ROUTES 2048
#define WAYS 4    /* entries at an index */
#define SEEN 4096 /* pieces of code that were seen once or more */

struct place {
    uint64_t ip;
    uint32_t pid; /* 0: none */
    struct hm_clock_key key;
};

struct kept {
    struct hm_clock_key key;
    struct hm_route *route; /* NULL: there is none */
};

struct hm_clock_places {
    uint64_t seed;
    struct place place[PLACES][WAYS];
    struct kept kept[ROUTES][WAYS];
    uint64_t seen[SEEN]; /* the keys' second words */
};

struct hm_clock_places *hm_clock_places_new(uint64_t seed)
{
    struct hm_clock_places *places = calloc(1, sizeof(*places));
    if (places)
        places->seed = seed;
    return places;
}

void hm_clock_places_free(struct hm_clock_places *places)
{
    for (size_t i = 0; places && i < ROUTES; i++)
        for (size_t way = 0; way < WAYS; way++)
            free(places->kept[i][way].route);
    free(places);
}

static uint64_t turn(uint64_t value, unsigned bits)
{
    return value << bits | value >> (64 - bits);
}

/* Each word of the code changes both words of the key, by two multiplications that can be undone: nothing is lost. */
static void mix(struct hm_clock_key *key, uint64_t word)
{
    key->word[0] = turn((key->word[0] ^ word) * UINT64_C(0x9e3779b97f4a7c15), 31) + key->word[1];
    key->word[1] = turn((key->word[1] + word) * UINT64_C(0xc2b2ae3d27d4eb4f), 29) ^ key->word[0];
}

struct hm_clock_key hm_clock_places_key(const struct hm_clock_places *places, const struct hm_route_code *piece)
{
    struct hm_clock_key key = {{places->seed, ~places->seed}};
    size_t size = (size_t)piece->before + piece->after, at = 0;
    uint64_t word;
    mix(&key, (uint64_t)piece->before << 16 | piece->after);
    for (; size - at >= sizeof(word); at += sizeof(word)) {
        memcpy(&word, piece->byte + at, sizeof(word));
        mix(&key, word);
    }
    word = 0;
    memcpy(&word, piece->byte + at, size - at);
    mix(&key, word);
    mix(&key, 0);
    mix(&key, 0);
    key.word[0] |= key.word[0] == 0;
    return key;
}

static size_t index_of(uint32_t pid, uint64_t ip)
{
    uint64_t mixed = (ip ^ (uint64_t)pid << 32) * UINT64_C(0x9e3779b97f4a7c15);
    return mixed >> 32 & (PLACES - 1);
}

/* The way in which a place is remembered; WAYS: it is not. */
static size_t find_place(const struct place *place, uint32_t pid, uint64_t ip)
{
    size_t way = 0;
    while (way < WAYS && !(place[way].pid == pid && place[way].ip == ip))
        way++;
    return way;
}

const struct hm_clock_key *hm_clock_places_find(const struct hm_clock_places *places, uint32_t pid, uint64_t ip)
{
    const struct place *place = places->place[index_of(pid, ip)];
    size_t way = find_place(place, pid, ip);
    return way < WAYS ? &place[way].key : NULL;
}

const struct hm_clock_key *hm_clock_places_note(struct hm_clock_places *places, uint32_t pid, uint64_t ip,
                                                struct hm_clock_key key)
{
    struct place *place = places->place[index_of(pid, ip)];
    size_t way = find_place(place, pid, ip);
    memmove(place + 1, place, (way < WAYS ? way : WAYS - 1) * sizeof(*place));
    *place = (struct place){.ip = ip, .pid = pid, .key = key};
    return &place->key;
}

void hm_clock_places_forget(struct hm_clock_places *places)
{
    memset(places->place, 0, sizeof(places->place));
}

bool hm_clock_places_see(struct hm_clock_places *places, const struct hm_clock_key *key)
{
    uint64_t *seen = &places->seen[key->word[0] & (SEEN - 1)];
    bool was_seen = *seen == key->word[1];
    *seen = key->word[1];
    return was_seen;
}

static bool is_same(const struct hm_clock_key *a, const struct hm_clock_key *b)
{
    return a->word[0] == b->word[0] && a->word[1] == b->word[1];
}

/* The way in which the route of this code is kept; WAYS: it is not. */
static size_t find_way(const struct kept *kept, const struct hm_clock_key *key)
{
    size_t way = 0;
    while (way < WAYS && !is_same(&kept[way].key, key))
        way++;
    return way;
}

bool hm_clock_places_route(const struct hm_clock_places *places, const struct hm_clock_key *key,
                           const struct hm_route **route)
{
    const struct kept *kept = places->kept[key->word[0] & (ROUTES - 1)];
    size_t way = find_way(kept, key);
    bool has_code = hm_clock_key_has_code(key);
    *route = has_code && way < WAYS ? kept[way].route : NULL;
    return way < WAYS || !has_code;
}

void hm_clock_places_keep(struct hm_clock_places *places, const struct hm_clock_key *key, const struct hm_route *route)
{
    struct kept *kept = places->kept[key->word[0] & (ROUTES - 1)];
    size_t way = find_way(kept, key);
    if (way == WAYS)
        way--;
    free(kept[way].route);
    memmove(kept + 1, kept, way * sizeof(*kept));
    *kept = (struct kept){.key = *key, .route = route->n > 0 ? malloc(hm_route_size(route)) : NULL};
    if (kept->route)
        memcpy(kept->route, route, hm_route_size(route));
}
