/* SPDX-License-Identifier: Apache-2.0 */
#include "clockcode.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <time.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/pagesize.h"
#include "clockdecoder.h"
#include "clockfiles.h"
#include "clockplaces.h"
#include "clockyield.h"

#define AHEAD_S 120 /* of the share that may be used at once */
/* After this time, the code at a place is read again: the process may have executed another program, or made or loaded
 * other code there, or its number may be another process's by now. That is cheap, as the routes are kept. */
#define TRUSTED_S 60
/* Of the CPU time that may be used by now: for code that is seen the first time. What is left is for code that the
 * programs come back to, as most samples are of such code. */
#define AT_FIRST 0.75
#define SCOPE "/proc/sys/kernel/yama/ptrace_scope"
#define TICKS 100 /* of which none is in code that may be read, until it is clear that none will be */

struct hm_clock_code {
    struct hm_clock_decoder decoder;
    clockid_t clock; /* of the decoder's CPU time */
    double share, begun_s, cpu_s;
    double read_s;    /* no code that is noted was read before */
    double started_s; /* of cpu_s: for its start, which no place has to pay for */
    struct hm_clock_yield yield;
    struct hm_clock_places *places;
    struct hm_clock_files files;
    struct {
        int number;       /* errno of the last time that a process's memory was not to be read; 0: never */
        bool lacks_power; /* nor may mapped files be opened */
        uint64_t ticks;   /* in code that was not read */
        uint64_t others;  /* in code that was */
        char why[160];
    } refused;
    /* Code that is to be asked about, and the answers. */
    struct hm_route_code piece[HM_ROUTE_BATCH];
    struct hm_clock_key key[HM_ROUTE_BATCH];
    struct hm_route route[HM_ROUTE_BATCH];
    size_t n_waiting;
};

static uint64_t choose_seed(void)
{
    uint64_t seed;
    return getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == (ssize_t)sizeof(seed) ? seed : hm_clock_ns(CLOCK_MONOTONIC);
}

struct hm_clock_code *hm_clock_code_new(double share, int stop, struct hm_error *error)
{
    struct hm_clock_code *code = calloc(1, sizeof(*code));
    if (code)
        code->places = hm_clock_places_new(choose_seed());
    if (!code || !code->places) {
        free(code);
        hm_fail(error, ENOMEM, "no memory for the places in the code");
        return NULL;
    }
    code->share = share;
    code->begun_s = code->read_s = hm_clock_s(CLOCK_MONOTONIC);
    if (hm_clock_decoder_start(&code->decoder, stop, error) == 0) {
        if (clock_getcpuclockid(code->decoder.pid, &code->clock) == 0) {
            code->started_s = code->cpu_s = hm_clock_s(code->clock);
            return code;
        }
        hm_fail_errno(error, "cannot see the CPU time of hybridmem-decode");
        hm_clock_decoder_stop(&code->decoder);
    }
    int number = errno;
    hm_clock_places_free(code->places);
    free(code);
    errno = number;
    return NULL;
}

void hm_clock_code_free(struct hm_clock_code *code)
{
    if (!code)
        return;
    hm_clock_decoder_stop(&code->decoder);
    hm_clock_places_free(code->places);
    free(code);
}

/* Reads up to `size` bytes of the process's code, which is less than a page. Returns the number of bytes. */
static size_t read_code(struct hm_clock_code *code, uint32_t pid, uint64_t from, uint8_t *byte, size_t size)
{
    size_t left = hm_page_size() - from % hm_page_size(), first = size < left ? size : left;
    struct iovec to = {.iov_base = byte, .iov_len = size};
    /* the kernel reads no part of an area of which it cannot read all */
    struct iovec there[2] = {{.iov_base = (void *)(uintptr_t)from, .iov_len = first},
                             {.iov_base = (void *)(uintptr_t)(from + first), .iov_len = size - first}};
    ssize_t result = process_vm_readv((pid_t)pid, &to, 1, there, 2, 0);
    if (result < 0 && errno != ESRCH && errno != EFAULT) {
        code->refused.number = errno;
        result = hm_clock_files_read(&code->files, (pid_t)pid, from, byte, size);
        code->refused.lacks_power = code->refused.lacks_power || (result < 0 && errno == EPERM);
    }
    return result > 0 ? (size_t)result : 0;
}

/* Notes which code is at this place of the process, which is then in *piece. */
static const struct hm_clock_key *note(struct hm_clock_code *code, uint32_t pid, uint64_t ip,
                                       struct hm_route_code *piece)
{
    struct hm_clock_key key = {{0}};
    size_t in_page = ip % hm_page_size(), before = ip < HM_ROUTE_BEFORE ? ip : HM_ROUTE_BEFORE;
    size_t size = read_code(code, pid, ip - before, piece->byte, before + HM_ROUTE_AFTER);
    if (size <= before && in_page < before) { /* the page before is not code */
        before = in_page;
        size = read_code(code, pid, ip - before, piece->byte, before + HM_ROUTE_AFTER);
    }
    memset(piece->byte + size, 0, sizeof(piece->byte) - size);
    piece->before = (uint16_t)before;
    piece->after = (uint16_t)(size > before ? size - before : 0);
    if (piece->after > 0)
        key = hm_clock_places_key(code->places, piece);
    return hm_clock_places_note(code->places, pid, ip, key);
}

/* May code be decoded that was seen before, or was not, by the CPU time that this has taken so far? */
static bool is_paid(const struct hm_clock_code *code, bool was_seen)
{
    double paid_s = code->share * (hm_clock_s(CLOCK_MONOTONIC) - code->begun_s + AHEAD_S);
    return code->cpu_s - code->started_s < (was_seen ? 1 : AT_FIRST) * paid_s;
}

/* Asks about the code that waits for it. */
static void ask(struct hm_clock_code *code)
{
    if (code->n_waiting == 0)
        return;
    bool is_answered = hm_clock_decoder_ask(&code->decoder, code->piece, code->n_waiting, code->route) == 0;
    for (size_t i = 0; i < code->n_waiting; i++) {
        if (!is_answered)
            code->route[i].n = 0;
        hm_clock_places_keep(code->places, &code->key[i], &code->route[i]);
    }
    code->n_waiting = 0;
    if (is_answered)
        code->cpu_s = hm_clock_s(code->clock);
}

static bool is_waiting(const struct hm_clock_code *code, const struct hm_clock_key *key)
{
    for (size_t i = 0; i < code->n_waiting; i++)
        if (memcmp(&code->key[i], key, sizeof(*key)) == 0)
            return true;
    return false;
}

/* Looks at the code at a place, unless its route is known. Where that is paid for, it waits to be asked about. */
static void look(struct hm_clock_code *code, uint32_t pid, uint64_t ip)
{
    const struct hm_route *route;
    const struct hm_clock_key *key = hm_clock_places_find(code->places, pid, ip);
    if (key && (hm_clock_places_route(code->places, key, &route) || !is_paid(code, true)))
        return;
    if (code->n_waiting == HM_ROUTE_BATCH)
        ask(code);
    key = note(code, pid, ip, &code->piece[code->n_waiting]);
    if (!hm_clock_places_route(code->places, key, &route) && !is_waiting(code, key) &&
        is_paid(code, hm_clock_places_see(code->places, key)))
        code->key[code->n_waiting++] = *key;
}

static void forget_old(struct hm_clock_code *code)
{
    double now_s = hm_clock_s(CLOCK_MONOTONIC);
    if (now_s < code->read_s + TRUSTED_S)
        return;
    hm_clock_places_forget(code->places);
    hm_clock_files_forget(&code->files);
    code->read_s = now_s;
}

static bool has_place(const struct hm_ring_sample *sample)
{
    return sample->is_user && sample->has_regs && sample->pid != 0;
}

static void locate(struct hm_clock_code *code, struct hm_ring_sample *sample)
{
    const struct hm_route *route;
    const struct hm_route_step *access = NULL;
    const struct hm_clock_key *key = hm_clock_places_find(code->places, sample->pid, sample->ip);
    if (!key || !hm_clock_places_route(code->places, key, &route))
        return;
    *(hm_clock_key_has_code(key) ? &code->refused.others : &code->refused.ticks) += 1;
    if (route)
        access = hm_route_follow(route, sample->ip, sample->reg, &sample->address);
    hm_clock_yield_add(&code->yield, sample->address >> hm_page_shift());
    if (!access)
        return;
    union perf_mem_data_src source = {.mem_op = (access->is_load ? PERF_MEM_OP_LOAD : 0) |
                                                (access->is_store ? PERF_MEM_OP_STORE : 0)};
    sample->data_src = source.val;
}

void hm_clock_code_locate(struct hm_clock_code *code, struct hm_ring_sample *sample, size_t n)
{
    forget_old(code);
    for (size_t i = 0; i < n; i++)
        if (has_place(&sample[i]))
            look(code, sample[i].pid, sample[i].ip);
    ask(code);
    for (size_t i = 0; i < n; i++)
        if (has_place(&sample[i]))
            locate(code, &sample[i]);
}

pid_t hm_clock_code_helper(const struct hm_clock_code *code)
{
    return code->decoder.pid;
}

double hm_clock_code_cpu_s(const struct hm_clock_code *code)
{
    return code->cpu_s;
}

/* Says why code was not read. */
static const char *explain(struct hm_clock_code *code)
{
    static const char what[] = "the code of the step's processes may not be read";
    char scope[16];
    if (hm_file_read_line(SCOPE, scope, sizeof(scope)) == 0 && scope[0] != '0')
        snprintf(code->refused.why, sizeof(code->refused.why), "%s: kernel.yama.ptrace_scope is %s", what, scope);
    else
        snprintf(code->refused.why, sizeof(code->refused.why), "%s: %.80s", what, strerror(code->refused.number));
    return code->refused.why;
}

const char *hm_clock_code_is_over(struct hm_clock_code *code)
{
    if (code->decoder.fd < 0)
        return "hybridmem-decode, which reads the programs' code, does not answer";
    if (code->refused.lacks_power && code->refused.others == 0 && code->refused.ticks >= TICKS)
        return explain(code);
    if (!hm_clock_yield_is_low(&code->yield, hm_clock_s(CLOCK_MONOTONIC)))
        return NULL;
    if (code->refused.number && code->refused.ticks > code->refused.others)
        return explain(code);
    return "the programs compute so much between two accesses that few ticks of the clock tell an address";
}
