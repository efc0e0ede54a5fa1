/* SPDX-License-Identifier: Apache-2.0 */
#include "route.h"

#include <string.h>

#define LONGEST 128 /* steps that are done, at most: a route may have loops */

/* The comparison that conditions ask for. */
struct compared {
    uint64_t left, right;
    uint8_t bits, flags; /* HM_ROUTE_COMPARE, _RESULT, _SIGN or _LOST */
};

/* A thread on its way. */
struct thread {
    uint64_t reg[HM_ROUTE_SLOTS];
    bool is_lost[HM_ROUTE_SLOTS]; /* its value is not known */
    struct compared compared;
};

bool hm_route_is_sound(const struct hm_route *route, size_t size)
{
    if (size < offsetof(struct hm_route, step) || route->n > HM_ROUTE_STEPS || size != hm_route_size(route))
        return false;
    for (uint32_t i = 0; i < route->n; i++) {
        const struct hm_route_step *step = &route->step[i];
        bool has_bits = step->bits == 8 || step->bits == 16 || step->bits == 32 || step->bits == 64;
        if (step->op >= HM_ROUTE_OPS || step->flags > HM_ROUTE_LOST || !has_bits || step->to >= HM_ROUTE_SLOTS ||
            step->left >= HM_ROUTE_SLOTS || step->right >= HM_ROUTE_SLOTS)
            return false;
    }
    return true;
}

bool hm_route_unpack(const uint8_t *message, size_t size, struct hm_route *route, size_t n)
{
    size_t head = offsetof(struct hm_route, step), at = 0;
    for (size_t i = 0; i < n; i++) {
        if (size - at < head)
            return false;
        memcpy(&route[i], message + at, head);
        if (route[i].n > HM_ROUTE_STEPS || size - at < hm_route_size(&route[i]))
            return false;
        memcpy(&route[i], message + at, hm_route_size(&route[i]));
        if (!hm_route_is_sound(&route[i], hm_route_size(&route[i])))
            return false;
        at += hm_route_size(&route[i]);
    }
    return at == size;
}

static uint64_t cut(uint64_t value, unsigned bits)
{
    return value << (64 - bits) >> (64 - bits);
}

static int64_t with_sign(uint64_t value, unsigned bits)
{
    return (int64_t)(value << (64 - bits)) >> (64 - bits);
}

static inline uint64_t compute(const struct hm_route_step *step, uint64_t left, uint64_t right)
{
    unsigned shift = right & (step->bits == 64 ? 63 : 31);
    switch (step->op) {
    case HM_ROUTE_ADD:
        return left + right;
    case HM_ROUTE_SUB:
        return left - right;
    case HM_ROUTE_AND:
        return left & right;
    case HM_ROUTE_OR:
        return left | right;
    case HM_ROUTE_XOR:
        return left ^ right;
    case HM_ROUTE_SHL:
        return left << shift;
    case HM_ROUTE_SHR:
        return left >> shift;
    case HM_ROUTE_SAR:
        return (uint64_t)(with_sign(left, step->bits) >> shift);
    case HM_ROUTE_MUL:
        return left * right;
    case HM_ROUTE_MULHI:
        return (uint64_t)((unsigned __int128)left * right >> step->bits);
    case HM_ROUTE_LEA:
        return step->value + left + right * step->scale;
    default: /* HM_ROUTE_SET, HM_ROUTE_CMOV */
        return right;
    }
}

static void compare(struct thread *thread, const struct hm_route_step *step, uint64_t left, uint64_t right,
                    uint64_t result)
{
    bool is_compare = step->flags == HM_ROUTE_COMPARE;
    thread->compared = (struct compared){.left = is_compare ? left : cut(result, step->bits),
                                         .right = is_compare ? right : 0,
                                         .bits = step->bits,
                                         .flags = step->flags};
}

static bool knows(const struct thread *thread, const struct hm_route_step *step)
{
    return !(thread->is_lost[step->left] | thread->is_lost[step->right]);
}

/* Registers of 32 bits are written with zeros above, as all processors do that; smaller ones leave what is above. */
static void write(struct thread *thread, const struct hm_route_step *step, uint64_t value, bool known)
{
    uint64_t *reg = &thread->reg[step->to];
    uint64_t above = step->bits >= 32 ? 0 : *reg & ~cut(UINT64_MAX, step->bits);
    *reg = above | cut(value, step->bits);
    thread->is_lost[step->to] = !known || (step->bits < 32 && thread->is_lost[step->to]);
}

static void do_step(struct thread *thread, const struct hm_route_step *step)
{
    thread->reg[HM_ROUTE_VALUE] = step->value;
    uint64_t left = cut(thread->reg[step->left], step->bits), right = cut(thread->reg[step->right], step->bits);
    uint64_t result = compute(step, left, right);
    bool known = knows(thread, step);
    if (step->flags != HM_ROUTE_KEEP)
        compare(thread, step, left, right, result);
    if (step->flags != HM_ROUTE_KEEP && !known)
        thread->compared.flags = HM_ROUTE_LOST;
    write(thread, step, result, known);
}

/* The same, as far as most steps need it: they are on whole registers, and no condition asks for a comparison. Each
 * sample of the clock has its route followed, so this is quick. */
static bool do_simple_step(struct thread *thread, const struct hm_route_step *step)
{
    if (step->bits != 64 || step->flags != HM_ROUTE_KEEP)
        return false;
    thread->reg[HM_ROUTE_VALUE] = step->value;
    thread->is_lost[step->to] = thread->is_lost[step->left] | thread->is_lost[step->right];
    thread->reg[step->to] = compute(step, thread->reg[step->left], thread->reg[step->right]);
    return true;
}

/* Returns 1 if the condition holds, 0 if it does not, -1 if that is not known. */
static int holds(const struct compared *compared, unsigned condition)
{
    if (compared->flags == HM_ROUTE_LOST)
        return -1;
    int64_t left = with_sign(compared->left, compared->bits), right = with_sign(compared->right, compared->bits);
    int result;
    switch (condition & ~1U) {
    case HM_ROUTE_EQUAL:
        result = left == right;
        break;
    case HM_ROUTE_NEGATIVE:
        result = with_sign(compared->left - compared->right, compared->bits) < 0;
        break;
    case HM_ROUTE_BELOW:
        result = compared->left < compared->right;
        break;
    case HM_ROUTE_NOT_ABOVE:
        result = compared->left <= compared->right;
        break;
    case HM_ROUTE_LESS:
        result = left < right;
        break;
    case HM_ROUTE_NOT_GREATER:
        result = left <= right;
        break;
    default:
        return -1;
    }
    /* the sign and zero are all that is known of a sum */
    bool is_simple = (condition & ~1U) == HM_ROUTE_EQUAL || (condition & ~1U) == HM_ROUTE_NEGATIVE;
    if (compared->flags == HM_ROUTE_SIGN && !is_simple)
        return -1;
    return condition & 1 ? !result : result;
}

static void lose(struct thread *thread, const struct hm_route_step *step)
{
    for (unsigned i = 0; i < HM_ROUTE_REGS; i++)
        thread->is_lost[i] |= step->value >> i & 1;
    if (step->flags == HM_ROUTE_LOST)
        thread->compared.flags = HM_ROUTE_LOST;
}

static void move_if(struct thread *thread, const struct hm_route_step *step)
{
    int answer = holds(&thread->compared, step->condition);
    if (answer > 0)
        do_step(thread, step);
    else if (answer < 0)
        thread->is_lost[step->to] = true;
}

/* Returns the number of the next step; past the last one, if it is not known. */
static uint32_t branch(const struct thread *thread, const struct hm_route_step *step, uint32_t next)
{
    int answer = holds(&thread->compared, step->condition);
    return answer < 0 ? HM_ROUTE_STEPS : answer ? step->next : next;
}

const struct hm_route_step *hm_route_follow(const struct hm_route *route, uint64_t place, const uint64_t *reg,
                                            uint64_t *address)
{
    struct thread thread = {.reg[HM_ROUTE_PLACE] = place, .compared.flags = HM_ROUTE_LOST};
    memcpy(thread.reg, reg, HM_ROUTE_REGS * sizeof(*reg));
    uint32_t at = 0;
    for (int done = 0; done < LONGEST && at < route->n; done++) {
        const struct hm_route_step *step = &route->step[at++];
        switch (step->op) {
        case HM_ROUTE_ACCESS:
            if (!knows(&thread, step))
                break;
            *address = step->value + thread.reg[step->left] + thread.reg[step->right] * step->scale;
            return step;
        case HM_ROUTE_JUMP:
            at = step->next;
            break;
        case HM_ROUTE_BRANCH:
            at = branch(&thread, step, at);
            break;
        case HM_ROUTE_CMOV:
            move_if(&thread, step);
            break;
        case HM_ROUTE_LOSE:
            lose(&thread, step);
            break;
        default:
            if (!do_simple_step(&thread, step))
                do_step(&thread, step);
        }
    }
    return NULL;
}
