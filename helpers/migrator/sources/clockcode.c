/* SPDX-License-Identifier: Apache-2.0 */
#include "clockcode.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <time.h>

#include "base/clock.h"
#include "base/pagesize.h"
#include "clockdecoder.h"

#define AHEAD_S 60  /* of the share that may be used at once */
#define KNOWN 16384 /* places in code that are remembered; a power of two */

struct place {
    uint64_t ip;
    uint32_t pid; /* 0: none */
    struct hm_operand operand;
};

struct hm_clock_code {
    struct hm_clock_decoder decoder;
    clockid_t clock; /* of the decoder's CPU time */
    double share, begun_s, cpu_s;
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
    free(code);
}

/* Reads up to `size` bytes of the process's code, those within one page. Returns the number of bytes. */
static size_t read_code(uint32_t pid, uint64_t from, uint8_t *code, size_t size)
{
    size_t left = hm_page_size() - from % hm_page_size();
    size = size < left ? size : left;
    struct iovec to = {.iov_base = code, .iov_len = size},
                 there = {.iov_base = (void *)(uintptr_t)from, .iov_len = size};
    ssize_t result = process_vm_readv((pid_t)pid, &to, 1, &there, 1, 0);
    return result > 0 ? (size_t)result : 0;
}

/* Finds the operand near this place in the process's code. */
static struct hm_operand look(struct hm_clock_code *code, uint32_t pid, uint64_t ip)
{
    struct hm_operand operand = {0};
    uint64_t in_page = ip % hm_page_size();
    size_t before = in_page < HM_OPERAND_BEFORE ? in_page : HM_OPERAND_BEFORE;
    struct hm_operand_code piece = {.address = ip, .before = (uint8_t)before};
    size_t size = read_code(pid, ip - before, piece.byte, before + HM_OPERAND_AFTER);
    if (size > before) {
        piece.after = (uint8_t)(size - before);
        if (hm_clock_decoder_ask(&code->decoder, &piece, &operand) != 0)
            operand.is_known = 0;
    }
    return operand;
}

/* May one more place be looked at, by the CPU time that this has taken so far? */
static bool is_paid(struct hm_clock_code *code)
{
    if (hm_clock_code_works(code))
        code->cpu_s = hm_clock_s(code->clock);
    return code->cpu_s < code->share * (hm_clock_s(CLOCK_MONOTONIC) - code->begun_s + AHEAD_S);
}

/* Returns NULL where the place is not known yet, and cannot be looked at now. */
static const struct hm_operand *find(struct hm_clock_code *code, uint32_t pid, uint64_t ip)
{
    uint64_t mixed = (ip ^ (uint64_t)pid << 32) * UINT64_C(0x9e3779b97f4a7c15);
    struct place *place = &code->place[mixed >> 32 & (KNOWN - 1)];
    if (place->pid == pid && place->ip == ip)
        return &place->operand;
    if (!is_paid(code))
        return NULL;
    *place = (struct place){.ip = ip, .pid = pid, .operand = look(code, pid, ip)};
    return &place->operand;
}

void hm_clock_code_locate(struct hm_clock_code *code, struct hm_ring_sample *sample)
{
    if (!sample->is_user || !sample->has_regs || sample->pid == 0)
        return;
    const struct hm_operand *operand = find(code, sample->pid, sample->ip);
    if (!operand || !operand->is_known)
        return;
    sample->address = hm_operand_address(operand, sample->reg);
    union perf_mem_data_src source = {.mem_op = (operand->is_load ? PERF_MEM_OP_LOAD : 0) |
                                                (operand->is_store ? PERF_MEM_OP_STORE : 0)};
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

bool hm_clock_code_works(const struct hm_clock_code *code)
{
    return code->decoder.fd >= 0;
}
