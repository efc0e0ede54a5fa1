/* SPDX-License-Identifier: Apache-2.0 */
#include "movefixture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "migrator/move/cpus.h"
#include "migrator/move/pool.h"
#include "migrator/watch/powers.h"

struct hm_nodes nodes;
struct hm_range range;
struct hm_mover mover;
bool is_ours, is_stopped, is_owner, is_reserved;
int ours_number, n_cpus_asked;
struct hm_maps maps[1];
static struct hm_rank rank = {.pid = MODEL_PID};
static struct hm_ranks ranks = {.n = 1, .rank = &rank};

bool hm_ranks_is_ours(const struct hm_ranks *all, uint32_t space)
{
    (void)all, (void)space;
    errno = is_ours ? errno : ours_number;
    return is_ours;
}

void hm_cpus_of(pid_t pid, struct hm_set *cpus)
{
    assert_int_equal(pid, MODEL_PID);
    hm_set_clear(cpus);
    n_cpus_asked++;
}

bool hm_powers_owns(pid_t pid, struct hm_range whole)
{
    assert_int_equal(pid, MODEL_PID);
    assert_int_equal(whole.first, FIRST + 100);
    assert_int_equal(whole.n_pages, 50);
    return is_owner;
}

bool hm_pool_may_take(const char *sysfs, const struct hm_nodes *all, unsigned tier)
{
    assert_string_equal(sysfs, "/sys");
    assert_ptr_equal(all, &nodes);
    return !(tier == 0 && is_reserved);
}

static bool stop(void *data)
{
    (void)data;
    return is_stopped;
}

static void add_node(int id)
{
    struct hm_node_state *node = &nodes.node[id];
    *node = (struct hm_node_state){
        .id = id, .tier = id >= 2, .total_bytes = 1u << 30, .free_bytes = PAGES * hm_page_size()};
    for (int other = 0; other < 4; other++)
        node->distance[other] = (uint8_t)(id == other ? 10 : (id ^ other) == 2 ? 17 : 28);
    nodes.index[id] = (int8_t)id;
}

void mover_start(void)
{
    assert_int_equal(hm_mover_init(&mover, &nodes, &ranks, maps, stop, NULL, NULL), 0);
    hm_mover_begin(&mover, UINT64_MAX, UINT64_MAX);
}

int move_set_up(void **state)
{
    (void)state;
    kernel_reset(2);
    memset(nodes.index, -1, sizeof(nodes.index));
    nodes.n = 4;
    nodes.n_tiers = 2;
    for (int id = 0; id < 4; id++)
        add_node(id);
    range = (struct hm_range){FIRST, PAGES};
    maps[0] = (struct hm_maps){.range = &range, .n = 1, .room = 1, .n_pages = PAGES};
    is_ours = is_owner = true;
    is_stopped = is_reserved = false;
    n_cpus_asked = 0;
    mover_start();
    mover.has_huge = true;
    mover.batch_pages = HM_BATCH_PAGES;
    return 0;
}

int move_tear_down(void **state)
{
    (void)state;
    hm_mover_free(&mover);
    return 0;
}

void promote(unsigned first, unsigned count)
{
    struct hm_move one = {.first = HM_PAGE(0, FIRST + first), .n_pages = count, .limit = count, .from = 1, .to = 0};
    hm_mover_run(&mover, &one, 1);
}
