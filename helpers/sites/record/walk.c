/* SPDX-License-Identifier: Apache-2.0 */
#include "walk.h"

#if defined __x86_64__ && defined __LP64__
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cfi.h"

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

/* A rule in a word, so that it can be read and written at once: its kind, its two sizes in words of the stack, and its
 * address, mixed so that no two have the same; the upper part of that is the place in the table. */
#define KIND_BITS 3
#define FRAME_BITS 18
#define SAVED_BITS 6
#define RULE_BITS (KIND_BITS + FRAME_BITS + SAVED_BITS)
#define ADDRESS_BITS 47 /* addresses of programs, but of those that ask the kernel for others */
#define SET_BITS 11
#define TAG_BITS (ADDRESS_BITS - SET_BITS)
#define MIX UINT64_C(0x1e3779b97f4a7c15) /* odd, so that it can be undone */
#define LOW(bits) ((UINT64_C(1) << (bits)) - 1)
_Static_assert(RULE_BITS + TAG_BITS <= 64, "a word has room for a rule and what tells its address");
_Static_assert(HM_CFI_MOST_FRAME / HM_CFI_WORD <= LOW(FRAME_BITS) && HM_CFI_MOST_SAVED / HM_CFI_WORD <= LOW(SAVED_BITS),
               "a word has room for all sizes");

static _Atomic uint64_t known[1 << SET_BITS][2];
static atomic_uint holds;                /* objects that are being unloaded */
static _Thread_local unsigned own_holds; /* by this thread, whose destructors may fork */

static uint64_t pack(const struct hm_cfi_rule *rule)
{
    return rule->kind | (uint64_t)(rule->frame_bytes / HM_CFI_WORD) << KIND_BITS |
           (uint64_t)(rule->saved_bytes / HM_CFI_WORD) << (KIND_BITS + FRAME_BITS);
}

static struct hm_cfi_rule unpack(uint64_t word)
{
    return (struct hm_cfi_rule){(enum hm_cfi_kind)(word & LOW(KIND_BITS)),
                                (uint32_t)(word >> KIND_BITS & LOW(FRAME_BITS)) * HM_CFI_WORD,
                                (uint32_t)(word >> (KIND_BITS + FRAME_BITS) & LOW(SAVED_BITS)) * HM_CFI_WORD};
}

static void forget_rules(void)
{
    for (unsigned i = 0; i < 1 << SET_BITS; i++)
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
    static const unsigned char end_of_handler[9] = {0x48, 0xc7, 0xc0, SYS_rt_sigreturn, 0, 0, 0, 0x0f, 0x05};
    bool can = kernel_can_read(address) && kernel_can_read(address + sizeof(end_of_handler) - HM_CFI_WORD);
    bool is_end = can && memcmp((const void *)address, end_of_handler, sizeof(end_of_handler)) == 0;
    return (struct hm_cfi_rule){is_end ? HM_CFI_HARD : HM_CFI_ENDS, 0, 0};
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
static void keep(_Atomic uint64_t *set, uint64_t tag, const struct hm_cfi_rule *rule)
{
    bool is_full = atomic_load_explicit(&set[tag & 1], memory_order_relaxed) != 0 &&
                   atomic_load_explicit(&set[~tag & 1], memory_order_relaxed) == 0;
    atomic_store_explicit(&set[(tag & 1) ^ is_full], pack(rule) | tag << RULE_BITS, memory_order_relaxed);
}

/* Where an object was unloaded, the rules that led here may be old ones: HM_CFI_NONE, so that the walk begins again. */
static struct hm_cfi_rule learn(uintptr_t address, _Atomic uint64_t *set, uint64_t tag)
{
    struct dwarf_eh_bases bases;
    bool has_old = has_unloaded();
    const void *entry = _Unwind_Find_FDE((void *)(address - 1), &bases);
    struct hm_cfi_rule rule = entry ? hm_cfi_find(entry, (uintptr_t)bases.func, address) : rule_without_entry(address);
    if (entry && set)
        keep(set, tag, &rule);
    return has_old ? (struct hm_cfi_rule){HM_CFI_NONE, 0, 0} : rule;
}

static struct hm_cfi_rule find_rule(uintptr_t address, bool may_learn)
{
    uint64_t mixed = address * MIX & LOW(ADDRESS_BITS), tag = mixed & LOW(TAG_BITS);
    _Atomic uint64_t *set = address >> ADDRESS_BITS == 0 ? known[mixed >> TAG_BITS] : NULL;
    for (unsigned i = 0; set && i < 2; i++) {
        uint64_t word = atomic_load_explicit(&set[i], memory_order_relaxed);
        if (word >> RULE_BITS == tag && word != 0)
            return unpack(word);
    }
    return may_learn ? learn(address, set, tag) : (struct hm_cfi_rule){HM_CFI_HARD, 0, 0};
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

struct frame {
    uintptr_t address, stack_pointer, frame_pointer; /* when the call returns */
};

static bool read_word(struct span *span, uintptr_t at, uintptr_t *value)
{
    if (!can_read(span, at))
        return false;
    memcpy(value, (const void *)at, sizeof(*value));
    return true;
}

static bool step(struct frame *frame, const struct hm_cfi_rule *rule, struct span *span)
{
    uintptr_t end = rule->kind == HM_CFI_BY_STACK   ? frame->stack_pointer + rule->frame_bytes
                    : rule->kind == HM_CFI_BY_FRAME ? frame->frame_pointer + rule->frame_bytes
                                                    : frame->frame_pointer - rule->frame_bytes;
    if (rule->kind == HM_CFI_BY_WORD && !read_word(span, end, &end))
        return false;
    uintptr_t saved = rule->kind == HM_CFI_BY_WORD ? frame->frame_pointer : end - rule->saved_bytes;
    if (!read_word(span, end - HM_CFI_WORD, &frame->address))
        return false;
    frame->stack_pointer = end;
    return saved == end || read_word(span, saved, &frame->frame_pointer);
}

/* Returns HM_CFI_ENDS, or the kind of the rule that it could not go by. */
static enum hm_cfi_kind walk_from(struct frame frame, struct span span, const void *caller, bool may_learn,
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
        struct hm_cfi_rule rule = find_rule(frame.address, may_learn);
        if (rule.kind == HM_CFI_HARD || rule.kind == HM_CFI_NONE)
            return rule.kind;
        if (rule.kind == HM_CFI_ENDS || !step(&frame, &rule, &span))
            break;
    }
    return HM_CFI_ENDS;
}

/* Begins at the function that calls it: where this one ends is in its own frame pointer. */
__attribute__((noinline)) bool hm_walk(const void *caller, bool may_learn, struct hm_stack *stack)
{
    const uintptr_t *here = __builtin_frame_address(0);
    struct frame frame = {here[1], (uintptr_t)(here + 2), here[0]};
    struct span span = readable_from((uintptr_t)here);
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
