/* SPDX-License-Identifier: Apache-2.0 */
#include "clockcode.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

#include "base/clock.h"
#include "base/pagesize.h"
#include "clockdecoder.h"
#include "clockyield.h"

#define AHEAD_S 120 /* of the share that may be used at once */
#define KNOWN 16384 /* places in code that are remembered; a power of two */

struct place {
    uint64_t ip;
    uint32_t pid;           /* 0: none */
    struct hm_route *route; /* NULL: there is none */
};

struct hm_clock_code {
    struct hm_clock_decoder decoder;
    clockid_t clock; /* of the decoder's CPU time */
    double share, begun_s, cpu_s;
    struct hm_clock_yield yield;
    struct place place[KNOWN];
};

struct hm_clock_code *hm_clock_code_new(double share, struct hm_error *error)
{
    struct hm_clock_code *code = calloc(1, sizeof(*code));
    if (!code) {
        hm_fail(error, ENOMEM, "no memory for the places in the code");
        return NULL;
    }
    code->share = share;
    code->begun_s = hm_clock_s(CLOCK_MONOTONIC);
    if (hm_clock_decoder_start(&code->decoder, error) == 0) {
        if (clock_getcpuclockid(code->decoder.pid, &code->clock) == 0)
            return code;
        hm_fail_errno(error, "cannot see the CPU time of hybridmem-decode");
        hm_clock_decoder_stop(&code->decoder);
    }
    int number = errno;
    free(code);
    errno = number;
    return NULL;
}

void hm_clock_code_free(struct hm_clock_code *code)
{
    if (!code)
        return;
    hm_clock_decoder_stop(&code->decoder);
    for (size_t i = 0; i < KNOWN; i++)
        free(code->place[i].route);
    free(code);
}

/* Reads up to `size` bytes of the process's code, which is less than a page. Returns the number of bytes. */
static size_t read_code(uint32_t pid, uint64_t from, uint8_t *code, size_t size)
{
    size_t left = hm_page_size() - from % hm_page_size(), first = size < left ? size : left;
    struct iovec to = {.iov_base = code, .iov_len = size};
    /* the kernel reads no part of an area of which it cannot read all */
    struct iovec there[2] = {{.iov_base = (void *)(uintptr_t)from, .iov_len = first},
                             {.iov_base = (void *)(uintptr_t)(from + first), .iov_len = size - first}};
    ssize_t result = process_vm_readv((pid_t)pid, &to, 1, there, 2, 0);
    return result > 0 ? (size_t)result : 0;
}

/* Finds the route from this place in the process's code. Returns NULL if there is none. */
static struct hm_route *look(struct hm_clock_code *code, uint32_t pid, uint64_t ip)
{
    struct hm_route_code piece = {0};
    struct hm_route route;
    size_t in_page = ip % hm_page_size(), before = ip < HM_ROUTE_BEFORE ? ip : HM_ROUTE_BEFORE;
    size_t size = read_code(pid, ip - before, piece.byte, before + HM_ROUTE_AFTER);
    if (size <= before && in_page < before) { /* the page before is not code */
        before = in_page;
        size = read_code(pid, ip - before, piece.byte, before + HM_ROUTE_AFTER);
    }
    if (size <= before)
        return NULL;
    piece.before = (uint16_t)before;
    piece.after = (uint16_t)(size - before);
    if (hm_clock_decoder_ask(&code->decoder, &piece, &route) != 0 || route.n == 0)
        return NULL;
    struct hm_route *kept = malloc(hm_route_size(&route));
    if (kept)
        memcpy(kept, &route, hm_route_size(&route));
    return kept;
}

/* May one more place be looked at, by the CPU time that this has taken so far? */
static bool is_paid(struct hm_clock_code *code)
{
    if (code->decoder.fd >= 0)
        code->cpu_s = hm_clock_s(code->clock);
    return code->cpu_s < code->share * (hm_clock_s(CLOCK_MONOTONIC) - code->begun_s + AHEAD_S);
}

/* Returns NULL where the place is not known yet, and cannot be looked at now. */
static const struct place *find(struct hm_clock_code *code, uint32_t pid, uint64_t ip)
{
    uint64_t mixed = (ip ^ (uint64_t)pid << 32) * UINT64_C(0x9e3779b97f4a7c15);
    struct place *place = &code->place[mixed >> 32 & (KNOWN - 1)];
    if (place->pid == pid && place->ip == ip)
        return place;
    if (!is_paid(code))
        return NULL;
    free(place->route);
    *place = (struct place){.ip = ip, .pid = pid, .route = look(code, pid, ip)};
    return place;
}

void hm_clock_code_locate(struct hm_clock_code *code, struct hm_ring_sample *sample)
{
    if (!sample->is_user || !sample->has_regs || sample->pid == 0)
        return;
    const struct place *place = find(code, sample->pid, sample->ip);
    if (!place)
        return;
    const struct hm_route_step *access = NULL;
    if (place->route)
        access = hm_route_follow(place->route, sample->ip, sample->reg, &sample->address);
    hm_clock_yield_add(&code->yield, sample->address >> hm_page_shift());
    if (!access)
        return;
    union perf_mem_data_src source = {.mem_op = (access->is_load ? PERF_MEM_OP_LOAD : 0) |
                                                (access->is_store ? PERF_MEM_OP_STORE : 0)};
    sample->data_src = source.val;
}

pid_t hm_clock_code_helper(const struct hm_clock_code *code)
{
    return code->decoder.pid;
}

double hm_clock_code_cpu_s(const struct hm_clock_code *code)
{
    return code->cpu_s;
}

const char *hm_clock_code_is_over(struct hm_clock_code *code)
{
    if (code->decoder.fd < 0)
        return "hybridmem-decode, which reads the programs' code, does not answer";
    if (hm_clock_yield_is_low(&code->yield, hm_clock_s(CLOCK_MONOTONIC)))
        return "the programs compute so much between two accesses that few ticks of the clock tell an address";
    return NULL;
}
