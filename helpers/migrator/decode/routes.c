/* SPDX-License-Identifier: Apache-2.0 */
#include "routes.h"

#include "translate.h"

#define DISTANCE 12 /* instructions before the place that are looked at, at most */
#define END HM_ROUTE_STEPS
#define VISITED 256 /* instructions of a route, at most; many have no step */

/* ------------------------------------------------------------------ before the place */

static bool needs(const struct hm_route_step *access, uint64_t written)
{
    return (written >> access->left | written >> access->right) & 1;
}

/* Adds a step of the instruction that is `at` bytes from the place. */
static void add_step(struct hm_route *route, struct hm_route_step step, int64_t at)
{
    if (step.left == HM_ROUTE_PLACE)
        step.value += (uint64_t)at;
    route->step[route->n++] = step;
}

/* Takes the last access before the place whose registers are still what they were. */
static bool look_before(struct hm_code *code, struct hm_route *route)
{
    uint64_t written = 0;
    uint8_t start[HM_CODE_BACK];
    size_t n = hm_code_look_back(code, start), last = n > DISTANCE ? n - DISTANCE : 0;
    while (n-- > last) {
        const struct hm_instruction *instruction = hm_code_at(code, -(int64_t)start[n]);
        if (!instruction || instruction->goes_on != HM_GOES_NEXT)
            break;
        written |= instruction->written;
        if (instruction->has_access && !needs(&instruction->step[0], written)) {
            add_step(route, instruction->step[0], -(int64_t)start[n]);
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------ from the place on */

/* What is known on the way, whatever the registers have in them. */
struct known {
    uint64_t lost; /* registers, as bits */
    uint8_t flags; /* of the last comparison: enum hm_route_flags */
};

/* An instruction, and the step of the route at which it begins. */
struct visited {
    int64_t at; /* bytes from the place */
    uint8_t step;
};

/* A step that branches to where the route is not made yet. */
struct branch {
    int64_t target;
    struct known known;
    uint8_t step;
};

struct making {
    struct hm_code *code;
    struct hm_route *route;
    struct visited visited[VISITED];
    struct branch branch[HM_ROUTE_STEPS];
    size_t n_visited, n_branches;
    bool has_access;
};

static void learn(struct known *known, const struct hm_route_step *step)
{
    bool is_lost = (known->lost >> step->left | known->lost >> step->right) & 1;
    if (step->bits < 32)
        is_lost |= known->lost >> step->to & 1;
    if (step->op == HM_ROUTE_CMOV)
        is_lost |= known->flags == HM_ROUTE_LOST;
    if (step->flags != HM_ROUTE_KEEP)
        known->flags = is_lost ? HM_ROUTE_LOST : step->flags;
    if (step->op < HM_ROUTE_LOSE)
        known->lost = (known->lost & ~(UINT64_C(1) << step->to)) | (uint64_t)is_lost << step->to;
    else if (step->op == HM_ROUTE_LOSE)
        known->lost |= step->value & ((UINT64_C(1) << HM_ROUTE_REGS) - 1);
}

static int find_step(const struct making *making, int64_t at)
{
    for (size_t i = 0; i < making->n_visited; i++)
        if (making->visited[i].at == at)
            return making->visited[i].step;
    return -1;
}

static void add_jump(struct making *making, int step)
{
    struct hm_route_step jump = hm_translate_step(HM_ROUTE_JUMP);
    jump.next = (uint8_t)step & END;
    making->route->step[making->route->n++] = jump;
}

static void add_branch(struct making *making, int64_t target, const struct known *known)
{
    uint8_t step = (uint8_t)(making->route->n - 1);
    making->route->step[step].next = END;
    making->branch[making->n_branches++] = (struct branch){.target = target, .known = *known, .step = step};
}

/* Adds an instruction's steps. There is room for one more after them. Returns false if the route ends here: at an
 * access whose address is known then, where it is not known which way the thread takes, or as it has no room. */
static bool add(struct making *making, const struct hm_instruction *instruction, int64_t at, struct known *known)
{
    struct hm_route *route = making->route;
    if (route->n + instruction->n_steps >= HM_ROUTE_STEPS || making->n_visited == VISITED ||
        (instruction->goes_on == HM_GOES_BRANCH && known->flags == HM_ROUTE_LOST))
        return false;
    making->visited[making->n_visited++] = (struct visited){at, (uint8_t)route->n};
    for (int i = 0; i < instruction->n_steps; i++) {
        const struct hm_route_step *step = &instruction->step[i];
        add_step(route, *step, at);
        if (step->op == HM_ROUTE_ACCESS && !needs(step, known->lost)) {
            making->has_access = true;
            return false;
        }
        learn(known, step);
    }
    if (instruction->goes_on == HM_GOES_BRANCH)
        add_branch(making, at + instruction->target, known);
    return true;
}

/* Goes on from `at` bytes from the place until the thread goes away, or comes to where the route is made already. */
static void go(struct making *making, int64_t at, struct known known)
{
    for (;;) {
        int step = find_step(making, at);
        const struct hm_instruction *instruction = step < 0 ? hm_code_at(making->code, at) : NULL;
        if (step >= 0)
            add_jump(making, step);
        else if (!instruction || instruction->goes_on == HM_GOES_AWAY || !add(making, instruction, at, &known))
            add_jump(making, END);
        else {
            at += instruction->goes_on == HM_GOES_JUMP ? instruction->target : instruction->size;
            continue;
        }
        return;
    }
}

/* Comparisons that no condition asks for, as the next one comes first, need not be made. */
static void drop_comparisons(struct hm_route *route)
{
    bool is_wanted = true;
    for (uint32_t i = route->n; i-- > 0;) {
        struct hm_route_step *step = &route->step[i];
        bool is_set = step->flags != HM_ROUTE_KEEP;
        if (is_set && !is_wanted)
            step->flags = HM_ROUTE_KEEP;
        if (step->op == HM_ROUTE_JUMP || step->op == HM_ROUTE_BRANCH || step->op == HM_ROUTE_CMOV)
            is_wanted = true;
        else if (is_set)
            is_wanted = false;
    }
}

static void look_after(struct hm_code *code, struct hm_route *route)
{
    struct making making = {.code = code, .route = route};
    go(&making, 0, (struct known){.flags = HM_ROUTE_LOST});
    for (size_t i = 0; i < making.n_branches; i++) {
        const struct branch *branch = &making.branch[i];
        int step = find_step(&making, branch->target);
        if (step < 0 && route->n + 1 < HM_ROUTE_STEPS) {
            step = (int)route->n;
            go(&making, branch->target, branch->known);
        }
        if (step >= 0)
            route->step[branch->step].next = (uint8_t)step & END;
    }
    if (!making.has_access)
        route->n = 0;
    drop_comparisons(route);
}

struct hm_route hm_routes_find(struct hm_code *code, const struct hm_route_code *piece)
{
    struct hm_route route = {0};
    if (piece->before > HM_ROUTE_BEFORE || piece->after > HM_ROUTE_AFTER)
        return route;
    hm_code_choose(code, piece);
    if (!look_before(code, &route))
        look_after(code, &route);
    return route;
}
