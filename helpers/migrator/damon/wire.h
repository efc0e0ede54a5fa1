/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the DAMON broker and its clients say to each other: messages of fixed layout over SOCK_SEQPACKET, in the
 * machine's own byte order, each checked before any of it is believed. A client sends one kind, the whole list of
 * processes that it wants watched and how; the broker sends answers and lists of regions. Pure.
 */
#ifndef HM_MIGRATOR_DAMON_WIRE_H
#define HM_MIGRATOR_DAMON_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define HM_DAMON_MAGIC 0x484d4432u /* "HMD2": changes with the layout */
#define HM_DAMON_TARGETS 256       /* processes of one client */
#define HM_DAMON_RANGES 6          /* of one process in which to look */
#define HM_DAMON_REGIONS 128       /* in one message; longer lists take several */
#define HM_DAMON_TEXT 160
#define HM_DAMON_SOCKET "damon.sock" /* in the run_dir */
#define HM_DAMON_STATE "damon.state" /* beside it: what the broker has made, for the one after it */

/* Bounds of what a client may ask for. */
#define HM_DAMON_MIN_INTERVAL_MS 1000
#define HM_DAMON_MAX_INTERVAL_MS 3600000
#define HM_DAMON_MIN_BUDGET 100      /* millionths of one CPU */
#define HM_DAMON_MAX_BUDGET 1000000u /* a kdamond is one thread */

enum hm_damon_kind { HM_DAMON_WATCH = 1, HM_DAMON_ANSWER, HM_DAMON_LIST };

struct hm_damon_head {
    uint32_t magic;
    uint32_t kind;
    uint32_t generation; /* of the client's list of processes: its own count, repeated in what belongs to it */
    uint32_t n;          /* entries after the fixed part */
};

struct hm_damon_range {
    uint64_t start, end; /* addresses, of whole pages */
};

struct hm_damon_process {
    uint64_t start_time; /* field 22 of /proc/PID/stat */
    int32_t pid;
    uint32_t n_ranges;                            /* 1 or more */
    struct hm_damon_range range[HM_DAMON_RANGES]; /* where to look, ascending */
};

/* Watch these and no others. Without processes: a kdamond is kept for this client. */
struct hm_damon_watch {
    struct hm_damon_head head;
    uint32_t interval_ms; /* of a phase: looks are spread so that each brings several lists */
    uint32_t budget;      /* millionths of one CPU that the kdamond may take; what it takes first shows after seconds */
    struct hm_damon_process process[HM_DAMON_TARGETS];
};

struct hm_damon_answer {
    struct hm_damon_head head; /* n: processes that are watched; those that have ended meanwhile are left out */
    uint32_t number;           /* errno of a refusal, 0 none */
    uint32_t reserved;
    char text[HM_DAMON_TEXT]; /* why, terminated */
};

struct hm_damon_region {
    uint64_t start, end; /* addresses */
    uint32_t accesses;   /* looks, out of `looks`, that found the page accessed; each look takes a page at random */
    uint32_t age;        /* aggregations for which it has been so */
};

/* A part of the regions of one process in one aggregation, by ascending address. */
struct hm_damon_list {
    struct hm_damon_head head;
    uint32_t process; /* index in the list of the client's message of that generation */
    uint32_t look_us; /* between two looks */
    uint32_t looks;   /* in this aggregation */
    uint32_t lost;    /* lists lost since the client came: its socket was full, or the kernel's ring */
    uint64_t cpu_ns;  /* CPU time that kdamonds and the broker took for this client so far */
    uint32_t is_last; /* of this process in this aggregation */
    uint32_t reserved;
    struct hm_damon_region region[HM_DAMON_REGIONS];
};

union hm_damon_message {
    struct hm_damon_head head;
    struct hm_damon_watch watch;
    struct hm_damon_answer answer;
    struct hm_damon_list list;
};

/* Bytes of a message of this kind with n entries, or 0 where there is no such kind or n is too large. */
size_t hm_damon_wire_size(enum hm_damon_kind kind, uint32_t n);
/* Fill the head of a message. Returns its size. */
size_t hm_damon_wire_begin(void *message, enum hm_damon_kind kind, uint32_t generation, uint32_t n);
/* Is it a client's message of `size` bytes: right size, values in range, no process twice? Returns 0, or -1 (EBADMSG,
 * EINVAL) with a text that names the field. */
int hm_damon_wire_check_watch(const void *message, size_t size, struct hm_error *error);
/* The same for one of the broker's, of either kind. */
int hm_damon_wire_check_reply(const void *message, size_t size, struct hm_error *error);

#endif
