/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions of the step's processes, each decoded once. Capstone decodes them: it knows all of each processor's, and
 * is packaged where nodes run. */
#ifndef HM_MIGRATOR_DECODE_CODE_H
#define HM_MIGRATOR_DECODE_CODE_H

#include "base/error.h"
#include "migrator/perf/route.h"

#define HM_INSTRUCTION_STEPS 4 /* of a route, at most */

/* How the thread goes on after an instruction. */
enum hm_goes_on {
    HM_GOES_NEXT,   /* with the next instruction */
    HM_GOES_JUMP,   /* with the one at `target` */
    HM_GOES_BRANCH, /* with either: its last step is HM_ROUTE_BRANCH, whose `next` is to be filled in */
    HM_GOES_AWAY    /* somewhere else */
};

struct hm_instruction {
    uint64_t address;
    uint32_t pid;
    uint8_t size;    /* bytes; 0: these are no instruction */
    uint8_t goes_on; /* enum hm_goes_on */
    uint8_t n_steps;
    bool has_access;  /* the first step is an access */
    uint64_t written; /* registers, as bits; all if that is not known */
    uint64_t target;
    struct hm_route_step step[HM_INSTRUCTION_STEPS];
};

struct hm_code;

/* Returns a decoder for this processor's instructions (free with hm_code_free), or NULL with a text. */
struct hm_code *hm_code_new(struct hm_error *error);
void hm_code_free(struct hm_code *code);

/* Chooses the piece that is read from now on. It stays the caller's. */
void hm_code_choose(struct hm_code *code, const struct hm_route_code *piece);
/* Returns the instruction at an address of the piece, valid until the next call; or NULL if it is none, or outside. */
const struct hm_instruction *hm_code_at(struct hm_code *code, uint64_t address);
/*
 * Decodes the instructions before the piece's address. Where the first of them begins is not known. But decoding from a
 * wrong place soon falls in with the right one: so the farthest place is taken from which an instruction ends where it
 * should. Of 8000 places in each of Python, libc and libstdc++, 0.01 to 0.15 % were taken wrongly.
 */
void hm_code_look_back(struct hm_code *code);
/* Returns the instruction that ends at this address if it has been decoded and has not been forgotten. Else NULL. */
const struct hm_instruction *hm_code_known_before(struct hm_code *code, uint64_t address);

#endif
