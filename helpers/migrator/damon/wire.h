/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages between the DAMON broker and its clients: fixed layouts over SOCK_SEQPACKET, in the machine's byte
 * order. Each message is checked before it is used. A client sends the whole list of processes to watch, and how to
 * watch them; the broker sends answers and lists of regions. Or a client names threads whose CPU time it wants to
 * sample; the broker lends it a perf event for each. Pure.
 */
#ifndef HM_MIGRATOR_DAMON_WIRE_H
#define HM_MIGRATOR_DAMON_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define HM_DAMON_MAGIC 0x484d4434u   /* "HMD4": a new value for each new layout */
#define HM_DAMON_TARGETS 256         /* processes of one client */
#define HM_DAMON_RANGES 6            /* ranges of one process */
#define HM_DAMON_THREADS 64          /* threads in one message */
#define HM_DAMON_REGIONS 128         /* regions in one message; longer lists take several */
#define HM_DAMON_TEXT 160            /* bytes of an answer's text */
#define HM_DAMON_SOCKET "damon.sock" /* name in run_dir */

/* Limits of what a client may ask for. */
#define HM_DAMON_MIN_INTERVAL_MS 1000
#define HM_DAMON_MAX_INTERVAL_MS 3600000
#define HM_DAMON_MIN_BUDGET 100      /* millionths of one CPU */
#define HM_DAMON_MAX_BUDGET 1000000u /* a whole CPU, as a kdamond is one thread */

/* How DAMON looks: all the time, with lists of all of the memory, or in bursts, with lists of some blocks each. */
enum hm_damon_way { HM_DAMON_STEADY, HM_DAMON_BURSTS };
/* What looks: a kdamond, or the broker with the kernel's idle bitmap, which does so in bursts. */
enum hm_damon_looker { HM_DAMON_BY_KDAMOND, HM_DAMON_BY_BITMAP };
enum hm_damon_kind { HM_DAMON_WATCH = 1, HM_DAMON_ANSWER, HM_DAMON_LIST, HM_DAMON_BORROW, HM_DAMON_LENT };

struct hm_damon_head {
    uint32_t magic;
    uint32_t kind;
    /* number of the client's list, counted by the client; repeated in the broker's messages about that list */
    uint32_t generation;
    uint32_t n; /* entries after the fixed part */
};

struct hm_damon_range {
    uint64_t start, end; /* addresses, on page boundaries */
};

struct hm_damon_process {
    uint64_t start_time; /* field 22 of /proc/PID/stat */
    int32_t pid;
    uint32_t n_ranges;                            /* 1 or more */
    struct hm_damon_range range[HM_DAMON_RANGES]; /* ascending */
};

/* The processes to watch from now on, and no others. Without processes, the client only gets or keeps its kdamond. */
struct hm_damon_watch {
    struct hm_damon_head head;
    /* of a phase; if the budget allows it, looks all the time bring two lists of each process, or bursts a sixth of the
     * memory */
    uint32_t interval_ms;
    /* millionths of one CPU that the kdamond may use, and in bursts also the broker for it; the true use is known only
     * after seconds */
    uint32_t budget;
    uint32_t looker; /* hm_damon_looker */
    uint32_t reserved;
    struct hm_damon_process process[HM_DAMON_TARGETS];
};

struct hm_damon_answer {
    struct hm_damon_head head; /* n: number of watched processes, without those that have ended */
    uint32_t number;           /* errno of a refusal; 0: none */
    uint32_t reserved;
    char text[HM_DAMON_TEXT]; /* why it was refused, with '\0' at the end */
};

struct hm_damon_region {
    uint64_t start, end; /* addresses */
    uint16_t accesses;   /* number of looks that found an access */
    uint16_t looks;      /* the number of those that count; all were at one page, chosen at random */
    uint32_t look_us;    /* time between two looks; longer for a process that ran in a part of the time only */
};

/* Some of one process's regions, by ascending address. In a round, each part of the watched memory is in one region. */
struct hm_damon_list {
    struct hm_damon_head head;
    uint32_t process; /* index in the client's list of this generation */
    uint32_t rounds;  /* rounds that had ended before this list's looks were made */
    uint32_t span_ms; /* how long a round takes: the time that the looks stand for */
    uint32_t lost;    /* lists and records lost since the client connected: its socket or the kernel's ring was full */
    /* how much more than by chance two visits of the same memory differ, in thousandths; 0: no more */
    uint32_t scatter;
    uint32_t way;    /* hm_damon_way */
    uint64_t cpu_ns; /* CPU time that kdamonds and the broker have used for this client so far */
    struct hm_damon_region region[HM_DAMON_REGIONS];
};

struct hm_damon_thread {
    uint64_t start_time; /* field 22 of /proc/TID/stat */
    int32_t tid;
    uint32_t reserved;
};

/* Threads for which the client wants events: one or more. What they sample is not its choice (migrator/perf/attr.h). */
struct hm_damon_borrow {
    struct hm_damon_head head;
    struct hm_damon_thread thread[HM_DAMON_THREADS];
};

/* The answer, as long as the question: an errno for each thread, in the same order (damon/broker/lend.h; EAGAIN: ask
 * for it again; ENOTSUP: the broker may open no events itself). For each 0 there is a descriptor with the message
 * (SCM_RIGHTS), in the same order, of an event that is not enabled. */
struct hm_damon_lent {
    struct hm_damon_head head;
    uint32_t number[HM_DAMON_THREADS];
};

union hm_damon_message {
    struct hm_damon_head head;
    struct hm_damon_borrow borrow;
    struct hm_damon_lent lent;
    struct hm_damon_watch watch;
    struct hm_damon_answer answer;
    struct hm_damon_list list;
};

/* Bytes of a message of this kind with n entries; 0 if there is no such kind or n is too large. */
size_t hm_damon_wire_size(enum hm_damon_kind kind, uint32_t n);
/* Fills in the head of a message. Returns the message's size. */
size_t hm_damon_wire_begin(void *message, enum hm_damon_kind kind, uint32_t generation, uint32_t n);
/*
 * Checks a client's message of `size` bytes: its size, its values, and that no process is there twice. Returns 0, or -1
 * (EBADMSG, EINVAL) with a text that names the field.
 */
int hm_damon_wire_check_watch(const void *message, size_t size, struct hm_error *error);
/* The same for a client's message that asks for events; its threads are each there once, too. */
int hm_damon_wire_check_borrow(const void *message, size_t size, struct hm_error *error);
/* Is it such a message, by its head? If not, it is to be checked as a watch. */
bool hm_damon_wire_is_borrow(const void *message, size_t size);
/* Checks a message of the broker that answers a watch, of either kind. Returns as above. */
int hm_damon_wire_check_reply(const void *message, size_t size, struct hm_error *error);
/* Checks a message of the broker that answers a client who asks for events: struct hm_damon_lent, or an answer that
 * refuses. Returns as above. */
int hm_damon_wire_check_lent(const void *message, size_t size, struct hm_error *error);

#endif
