/* SPDX-License-Identifier: Apache-2.0 */
#include "walk.h"

#include "cfi.h"

#ifdef HM_MACHINE
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST 32 /* frames of this library before that of the caller, as many as the unwinder is let go */
#define PAGE ((uintptr_t)4096)
#define MOST_PAGES 16 /* that are looked at for one walk, each by a system call */

/* ---------------------------------------------------------- memory of stacks */

/* Memory that can be read: from `low` up to, not including, `high`. */
struct span {
    uintptr_t low, high;
};

static uintptr_t page_of(uintptr_t at)
{
    return at & ~(PAGE - 1);
}

/* The kernel looks at the memory before it finds that -1 is no way to change the signals. An address of 0 means to it
 * that they are only asked for. */
static bool kernel_can_read(uintptr_t at)
{
    int number = errno;
    bool can = at != 0 && (syscall(SYS_rt_sigprocmask, -1, at, NULL, HM_CFI_WORD) == 0 || errno != EFAULT);
    errno = number;
    return can;
}

static bool can_read(struct span *span, uintptr_t at)
{
    uintptr_t page = page_of(at);
    if (at - span->low < span->high - span->low && span->high - at >= HM_CFI_WORD)
        return true;
    if (!kernel_can_read(at))
        return false;
    if (at - page <= PAGE - HM_CFI_WORD)
        *span = (struct span){page, page + PAGE};
    return true;
}

/* The end of the thread's stack, if it is on it: libc has what it knows of a thread above its stack, and the kernel put
 * these bytes above that of the program. */
static uintptr_t end_above(uintptr_t stack_pointer)
{
    uintptr_t thread = (uintptr_t)pthread_self(), program = (uintptr_t)getauxval(AT_RANDOM);
    bool is_thread = thread > stack_pointer && (program < stack_pointer || thread < program);
    return page_of(is_thread ? thread : program) + PAGE;
}

/* What can be read from the stack pointer on. The thread's own stack is there as long as the thread: it reaches to its
 * end without a gap, which is looked at once. One that the program has made may be gone when the next walk begins. */
static struct span readable_from(uintptr_t stack_pointer)
{
    static _Thread_local struct span own;
    uintptr_t page = page_of(stack_pointer), high = own.high, low = own.low;
    if (high == 0)
        high = low = end_above(stack_pointer);
    if (page < low && low - page <= MOST_PAGES * PAGE) {
        while (low > page && kernel_can_read(low - PAGE))
            low -= PAGE;
        if (low == page)
            own = (struct span){page, high};
    }
    bool is_own = stack_pointer >= own.low && stack_pointer < own.high;
    return (struct span){stack_pointer, is_own ? own.high : page + PAGE};
}

/* ---------------------------------------------------------- rules */

/* A rule in a word, so that it can be read and written at once: its kind, its sizes, and its address, mixed so that no
 * two have the same; the upper part of that is the place in the table. */
#define RULE_BITS (HM_MACHINE_KIND_BITS + HM_MACHINE.frame.bits + HM_MACHINE.next.bits + HM_MACHINE.saved.bits)
#define TAG_BITS (HM_MACHINE.code_bits - HM_MACHINE_SET_BITS)
#define MIX UINT64_C(0x1e3779b97f4a7c15) /* odd, so that it can be undone */
#define LOW(bits) ((UINT64_C(1) << (bits)) - 1)

static _Atomic uint64_t known[1 << HM_MACHINE_SET_BITS][2];
static atomic_uint holds;                /* objects that are being unloaded */
static _Thread_local unsigned own_holds; /* by this thread, whose destructors may fork */

static uint64_t push(uint64_t word, const struct hm_machine_range *range, int64_t bytes)
{
    return word << range->bits | ((uint64_t)(bytes / range->step + range->before) & LOW(range->bits));
}

static int64_t pop(uint64_t *word, const struct hm_machine_range *range)
{
    int64_t steps = (int64_t)(*word & LOW(range->bits)) - range->before;
    *word >>= range->bits;
    return steps * range->step;
}

static uint64_t pack(uint64_t tag, const struct hm_cfi_rule *rule)
{
    uint64_t word = push(tag, &HM_MACHINE.saved, rule->saved_bytes);
    word = push(word, &HM_MACHINE.next, rule->next_bytes);
    return push(word, &HM_MACHINE.frame, rule->frame_bytes) << HM_MACHINE_KIND_BITS | rule->kind;
}

static struct hm_cfi_rule unpack(uint64_t word)
{
    struct hm_cfi_rule rule = {.kind = (enum hm_cfi_kind)(word & LOW(HM_MACHINE_KIND_BITS))};
    word >>= HM_MACHINE_KIND_BITS;
    rule.frame_bytes = pop(&word, &HM_MACHINE.frame);
    rule.next_bytes = pop(&word, &HM_MACHINE.next);
    rule.saved_bytes = pop(&word, &HM_MACHINE.saved);
    return rule;
}

static void forget_rules(void)
{
    for (unsigned i = 0; i < 1 << HM_MACHINE_SET_BITS; i++)
        for (unsigned j = 0; j < 2; j++)
            atomic_store_explicit(&known[i][j], 0, memory_order_relaxed);
}

/* Of libgcc, which has it in no header: the entry of the function that has this byte of code, and where that begins. */
struct dwarf_eh_bases {
    void *tbase, *dbase, *func;
};
const void *_Unwind_Find_FDE(void *code, struct dwarf_eh_bases *bases);

/* Where no object has the code, the stack ends for the unwinder, too, but for the code that ends a signal's handler. */
static struct hm_cfi_rule rule_without_entry(uintptr_t address)
{
    static const unsigned char end_of_handler[] = {HM_MACHINE_HANDLER_ENDS};
    bool can = kernel_can_read(address) && kernel_can_read(address + sizeof(end_of_handler) - HM_CFI_WORD);
    bool is_end = can && memcmp((const void *)address, end_of_handler, sizeof(end_of_handler)) == 0;
    return (struct hm_cfi_rule){.kind = is_end ? HM_CFI_HARD : HM_CFI_ENDS};
}

static int count_unloads(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    *(uint64_t *)data = info->dlpi_subs;
    return 1;
}

/* libc also unloads objects by itself, unseen: then some rule that is known may be one of other code. */
static bool has_unloaded(void)
{
    static _Atomic uint64_t unloads;
    uint64_t now = 0;
    dl_iterate_phdr(count_unloads, &now);
    if (atomic_exchange(&unloads, now) == now)
        return false;
    forget_rules();
    return true;
}

/* No other word is moved: its object may have gone meanwhile. */
static void keep(_Atomic uint64_t *set, uint64_t tag, uint64_t word)
{
    bool is_full = atomic_load_explicit(&set[tag & 1], memory_order_relaxed) != 0 &&
                   atomic_load_explicit(&set[~tag & 1], memory_order_relaxed) == 0;
    atomic_store_explicit(&set[(tag & 1) ^ is_full], word, memory_order_relaxed);
}

/* Where an object was unloaded, the rules that led here may be old ones: HM_CFI_NONE, so that the walk begins again. */
static uint64_t learn(uintptr_t address, _Atomic uint64_t *set, uint64_t tag)
{
    struct dwarf_eh_bases bases;
    bool has_old = has_unloaded();
    const void *entry = _Unwind_Find_FDE((void *)(address - 1), &bases);
    struct hm_cfi_rule rule =
        entry ? hm_cfi_find(&HM_MACHINE, entry, (uintptr_t)bases.func, address) : rule_without_entry(address);
    uint64_t word = pack(tag, &rule);
    if (entry && set)
        keep(set, tag, word);
    return has_old ? HM_CFI_NONE : word;
}

/* Returns the rule's word. */
static uint64_t find_rule(uintptr_t address, bool may_learn)
{
    uint64_t code = address / HM_MACHINE.code_step, mixed = code * MIX & LOW(HM_MACHINE.code_bits);
    uint64_t tag = mixed & LOW(TAG_BITS);
    bool is_usual = address % HM_MACHINE.code_step == 0 && code >> HM_MACHINE.code_bits == 0;
    _Atomic uint64_t *set = is_usual ? known[mixed >> TAG_BITS] : NULL;
    for (unsigned i = 0; set && i < 2; i++) {
        uint64_t word = atomic_load_explicit(&set[i], memory_order_relaxed);
        if (word >> RULE_BITS == tag && word != 0)
            return word;
    }
    return may_learn ? learn(address, set, tag) : HM_CFI_HARD;
}

void hm_walk_hold(void)
{
    own_holds++;
    atomic_fetch_add(&holds, 1);
}

void hm_walk_forget(void)
{
    forget_rules();
    atomic_fetch_sub(&holds, 1);
    own_holds--;
}

void hm_walk_look_in_child(void)
{
    holds = own_holds;
}

/* ---------------------------------------------------------- walk */

static bool read_word(struct span *span, uintptr_t at, uintptr_t *value)
{
    if (!can_read(span, at))
        return false;
    memcpy(value, (const void *)at, sizeof(*value));
    return true;
}

static bool step(struct hm_machine_frame *frame, const struct hm_cfi_rule *rule, struct span *span)
{
    bool is_by_word = rule->kind == HM_CFI_BY_WORD;
    uintptr_t base = rule->kind == HM_CFI_BY_STACK ? frame->stack_pointer : frame->frame_pointer;
    uintptr_t end = base + (uintptr_t)(is_by_word ? -rule->frame_bytes : rule->frame_bytes);
    if (is_by_word && !read_word(span, end, &end))
        return false;
    uintptr_t next = (rule->next_bytes < 0 ? end : base) + (uintptr_t)rule->next_bytes;
    if (!read_word(span, next, &frame->address))
        return false;
    frame->address = hm_machine_unsign(frame->address);
    frame->stack_pointer = end;
    if (!is_by_word && rule->saved_bytes == 0)
        return true;
    return read_word(span, is_by_word ? base : next + (uintptr_t)rule->saved_bytes, &frame->frame_pointer);
}

/* Returns HM_CFI_ENDS, or the kind of the rule that it could not go by. */
static enum hm_cfi_kind walk_from(struct hm_machine_frame frame, struct span span, const void *caller, bool may_learn,
                                  struct hm_stack *stack)
{
    bool is_found = false;
    stack->n = 0;
    for (unsigned n_own = 0; n_own < MOST && frame.address != 0; n_own += !is_found) {
        is_found = is_found || frame.address == (uintptr_t)caller;
        if (is_found)
            stack->address[stack->n++] = frame.address;
        if (stack->n == HM_SITES_DEPTH)
            break;
        struct hm_cfi_rule rule = unpack(find_rule(frame.address, may_learn));
        if (rule.kind == HM_CFI_HARD || rule.kind == HM_CFI_NONE)
            return rule.kind;
        if (rule.kind == HM_CFI_ENDS || !step(&frame, &rule, &span))
            break;
    }
    return HM_CFI_ENDS;
}

__attribute__((noinline)) bool hm_walk(const void *caller, bool may_learn, struct hm_stack *stack)
{
    struct hm_machine_frame frame = hm_machine_begin();
    struct span span = readable_from(frame.stack_pointer);
    if (atomic_load_explicit(&holds, memory_order_acquire) > 0)
        return false;
    enum hm_cfi_kind end = walk_from(frame, span, caller, may_learn, stack);
    if (end == HM_CFI_NONE)
        end = walk_from(frame, span, caller, may_learn, stack);
    return end == HM_CFI_ENDS;
}

#else

bool hm_walk(const void *caller, bool may_learn, struct hm_stack *stack)
{
    (void)caller, (void)may_learn, (void)stack;
    return false;
}

void hm_walk_hold(void)
{
}

void hm_walk_forget(void)
{
}

void hm_walk_look_in_child(void)
{
}

#endif
