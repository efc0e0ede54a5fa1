/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the preload library of `hybridmem sites run` writes into files, and the recorder reads. The recorder makes a
 * folder with one file TABLE, of all sites; each process of the program makes a file of its own beside it, of its
 * allocations. All are mapped, and written without locks that a killed process could keep. The program can write
 * anything into them: the recorder believes no number in them.
 */
#ifndef HM_SITES_RECORD_TABLE_H
#define HM_SITES_RECORD_TABLE_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/random.h"
#include "base/set.h"
#include "sites/profile/buildid.h"

#define HM_SITES_FOLDER "HYBRIDMEM_SITES" /* environment variable: the folder */
#define HM_SITES_TABLE "table"
#define HM_SITES_PROCESS "p%d-%d" /* a process's file: its pid, and a number that is larger for each program of it */
#define HM_SITES_PATH 256         /* bytes of a path, with its end */
#define HM_SITES_MAGIC UINT64_C(0x686d5f7369746573)

#define HM_SITES_DEPTH 10     /* return addresses of a site */
#define HM_SITES_ENTRIES 8192 /* sites; a power of two */
#define HM_SITES_OBJECTS 1024
#define HM_SITES_BLOCKS (1u << 20) /* allocations of a process, at one time, that are not small */
#define HM_SITES_MAPPINGS 4096     /* mappings of a process's own that are known at one time */
#define HM_SITES_CLASSES 16        /* of small allocations: the first is of at most HM_SITES_CLASS bytes */
#define HM_SITES_CLASS 16
#define HM_SITES_SHARDS 64 /* counters of small allocations: of one thread each, and the last of all further ones */
#define HM_SITES_LEAST_MOST ((uint64_t)HM_SITES_CLASS << (HM_SITES_CLASSES - 1))

/* Where an object or a site of the table is filled in by one process while others look for it. */
enum { HM_SITES_FREE, HM_SITES_BEING_FILLED, HM_SITES_FILLED };

/* Where new memory of a site goes, as the recorder has decided while the program runs. FAST: to the slow tier where
 * fast_left is too little. ANY: where it has not decided, as FAST as long as all sites have no more than fast_bytes. */
enum { HM_SITES_ANY, HM_SITES_FAST, HM_SITES_SLOW };

struct hm_sites_object {
    atomic_uint state;
    uint32_t id_length; /* of the build-id; 0: it has none */
    unsigned char id[HM_BUILDID_MOST];
    char path[HM_SITES_PATH];
};

struct hm_sites_frame {
    uint32_t object; /* HM_SITES_OBJECTS: in none */
    uint64_t offset;
};

struct hm_sites_entry {
    _Atomic uint64_t id; /* 0: free */
    atomic_uint state;   /* of the frames */
    uint32_t n_frames;
    uint32_t is_given; /* the id is one that the program was compiled with (sites/compile/given.h) */
    atomic_uint tier;  /* HM_SITES_ANY ...; the recorder's to set */
    struct hm_sites_frame frame[HM_SITES_DEPTH];
    _Atomic uint64_t allocations, ended;
    atomic_uint is_resized;         /* mremap or realloc has given one of them another size, or mremap divided it */
    _Atomic uint64_t ordered_bytes; /* of all its allocations that are in an order (profile/slices.h) */
    _Atomic int64_t live_bytes, peak_bytes;
    _Atomic double byte_s, lifetime_s; /* sums over allocations that have ended */
    _Atomic int64_t born_ns, ended_ns; /* CLOCK_MONOTONIC: of the first allocation, of the last end; 0: none */
};

struct hm_sites_table {
    uint64_t magic, bytes;                /* of this struct */
    uint64_t least_bytes;                 /* smaller allocations are counted by classes */
    struct hm_set fast_nodes, slow_nodes; /* of the tiers; empty where nothing is placed */
    uint64_t fast_bytes;                  /* that sites may have in the fast one */
    /* what new memory may have of these: allocations that can be placed take from it (place.h), and the recorder
     * corrects it by what it finds; less than 0 where more is there than may be */
    _Atomic int64_t fast_left;
    _Atomic uint64_t processes;             /* files of processes that were made */
    _Atomic uint64_t left_out;              /* allocations that were not noted (profile/profile.h) */
    _Atomic int64_t live_bytes, peak_bytes; /* of all entries */
    struct hm_sites_object object[HM_SITES_OBJECTS];
    struct hm_sites_entry entry[HM_SITES_ENTRIES];
};

/* An allocation that is not small. */
struct hm_sites_block {
    _Atomic uint64_t address; /* 0: it has ended; set last and cleared first */
    uint64_t bytes;
    uint64_t born_ns; /* CLOCK_MONOTONIC */
    uint64_t before;  /* bytes that the process had allocated at its site before, as profile/slices.h orders them */
    uint32_t entry;
    uint8_t is_placed;    /* its pages have a policy of their own (place.h) */
    uint8_t is_inherited; /* the process has it from the one that forked it, which counts its bytes */
    uint8_t is_shared;    /* a mapping with MAP_SHARED: others may touch what this process has not */
    uint8_t is_fast;      /* its bytes were taken of the table's fast_left */
};

struct hm_sites_small {
    _Atomic uint64_t allocations, bytes, freed_bytes;
};

struct hm_sites_process {
    uint64_t magic;
    int64_t pid;
    atomic_uint n_blocks; /* in use, or used before */
    atomic_uint changes;  /* counts allocations and their ends */
    struct hm_sites_small small[HM_SITES_SHARDS][HM_SITES_CLASSES];
    struct hm_sites_block block[]; /* the file has room for n_blocks at least */
};

/* Gives back what was taken of fast_left, which never has more than there is in all: the recorder may have found before
 * that the memory was elsewhere. */
static inline void hm_sites_give_fast(struct hm_sites_table *table, uint64_t bytes)
{
    int64_t most = (int64_t)table->fast_bytes, next,
            left = atomic_load_explicit(&table->fast_left, memory_order_relaxed);
    do
        if (__builtin_add_overflow(left, bytes, &next) || next > most)
            next = most;
    while (!atomic_compare_exchange_weak_explicit(&table->fast_left, &left, next, memory_order_relaxed,
                                                  memory_order_relaxed));
}

/* The class of a small allocation. */
static inline unsigned hm_sites_class(uint64_t bytes)
{
    unsigned bits = bytes <= HM_SITES_CLASS ? 0 : 64 - (unsigned)__builtin_clzll((bytes - 1) / HM_SITES_CLASS);
    return bits < HM_SITES_CLASSES ? bits : HM_SITES_CLASSES - 1;
}

/* The id of a class in profiles: the same in every run. */
static inline uint64_t hm_sites_class_id(unsigned class_number)
{
    struct hm_random name = {~(uint64_t)class_number};
    return hm_random_next(&name);
}

/* The bytes that can be used of libc's memory for an allocation, by which the notes tell its class. Of another malloc's
 * they may be others; then allocations at the border of two classes are taken to be in the other one. */
static inline uint64_t hm_sites_usable(uint64_t bytes)
{
    uint64_t usable = ((bytes + 23) & ~UINT64_C(15)) - 8;
    return usable < 24 ? 24 : usable;
}

#endif
