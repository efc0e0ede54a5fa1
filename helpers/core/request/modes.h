/* SPDX-License-Identifier: Apache-2.0 */
/* The table of modes. C code that needs to know something of a mode asks its row. Other code that lists modes: the
 * report (report/hybridmem/fields.py and rules.py). */
#ifndef HM_CORE_REQUEST_MODES_H
#define HM_CORE_REQUEST_MODES_H

#include <stddef.h>

#include "core/topology/topology.h"

enum hm_mode {
#define HM_MODE(id, word, planner, ...) HM_MODE_##id,
#include "core/request/modes.def"
    HM_MODES /* how many */
};

/* Groups of keys. keys.c has the group of each key. */
enum {
    HM_KEYS_SOCKET = 1 << 0,   /* which sockets' memory */
    HM_KEYS_MIGRATOR = 1 << 1, /* how the migrator works */
    HM_KEYS_FSDAX = 1 << 2,    /* the file systems that are made */
    HM_KEYS_GUIDE = 1 << 3,    /* how memory is guided by a profile */
    HM_KEYS_PROFILE = 1 << 4,  /* how a profile is made */
};

/* What a mode needs from the node and the plugin. A mode that needs nothing leaves the job as it is. */
enum {
    HM_WANTS_PLACEMENT = 1 << 0,  /* a memory plan for each task, applied when the task starts */
    HM_WANTS_BOTH_TIERS = 1 << 1, /* memory of both tiers, for all data */
    HM_WANTS_SLOW_RAM = 1 << 2,   /* slow memory that the prolog brings online, on sites that configure this */
    HM_WANTS_MIGRATOR = 1 << 3,   /* a process beside each step that moves the step's pages */
    HM_WANTS_PRELOAD = 1 << 4,    /* libhybridmem-preload in the step's programs */
    HM_WANTS_NAMESPACES = 1 << 5, /* DAX file systems, which the prolog makes */
    HM_WANTS_SIDE_CACHE = 1 << 6, /* memory behind a memory-side cache; nothing is placed */
    HM_WANTS_GUIDE = 1 << 7,      /* libhybridmem-guide in the step's programs */
    HM_WANTS_PROFILE = 1 << 8,    /* libhybridmem-sites in the step's programs, and a recorder beside each task */
};

struct hm_mode_row {
    const char *name;       /* the word of --hybrid-mem= and of records */
    enum hm_kind kind;      /* kind of the tier that the mode names; HM_KIND_UNKNOWN: it names none */
    unsigned keys;          /* HM_KEYS_...: groups of keys that it takes */
    unsigned wants;         /* HM_WANTS_... */
    const char *no_default; /* why it cannot be a partition's default_mode; NULL: it can */
    const char *about;      /* for help texts: one clause */
};

/* The row of a mode. NULL past the last mode, so that a loop over the table can end there. */
const struct hm_mode_row *hm_mode_at(int mode);

/* Find the mode with this name (`length` bytes). Returns -1 where there is none. */
int hm_mode_find(const char *name, size_t length);

/* The word for one HM_WANTS_... bit, for example "slow-ram"; NULL for any other number. */
const char *hm_mode_want_name(unsigned want);

/*
 * List the modes whose bit (1 << mode) is set: "off, fast or spill". `last` (" or ") separates the last one. Returns
 * `out`.
 */
char *hm_modes_list(unsigned modes, const char *last, char *out, size_t size);
#define HM_MODES_LIST 256 /* bytes that hold a list of all modes */

#endif
