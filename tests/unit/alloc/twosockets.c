/* SPDX-License-Identifier: Apache-2.0 */
#include "twosockets.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "alloc/kernel.h"
#include "alloc/layout.h"
#include "unit/lib/rows.h"

struct twosockets machine = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Have the sanitizer's calloc return NULL for impossible sizes, as the real one does. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

void *hm_kernel_map(size_t bytes)
{
    errno = machine.map_errno;
    return errno ? MAP_FAILED : mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

void hm_layout_read(struct hm_layout *layout)
{
    memset(layout, 0, sizeof(*layout));
    layout->fast_share = 1;
    for (int i = 0; i < 4; i++)
        layout->node[layout->n_nodes++] = (struct hm_layout_node){i, i % 2, i < 2, 0};
}

int hm_kernel_allowed(struct hm_set *nodes)
{
    if (!machine.allowed) {
        errno = EPERM;
        return -1;
    }
    return hm_set_parse(nodes, machine.allowed, NULL);
}

int hm_kernel_free_bytes(int node, uint64_t *bytes)
{
    *bytes = machine.free_bytes[node];
    return 0;
}

static void advise(char *memory, size_t bytes, int advice)
{
    if (machine.has_real_runs)
        assert_int_equal(madvise(memory, bytes, advice), 0);
}

uint64_t hm_kernel_now_ns(void)
{
    return __atomic_add_fetch(&machine.now_ns, machine.step_ns, __ATOMIC_SEQ_CST);
}

int hm_kernel_prefer(void *memory, size_t bytes, int node)
{
    if (machine.prefer_errno && machine.prefer_left-- == 0) {
        machine.prefer_left = 0;
        errno = machine.prefer_errno;
        return -1;
    }
    pthread_mutex_lock(&machine.lock);
    if (machine.n_calls < MOST_CALLS) {
        machine.call[machine.n_calls].memory = memory;
        machine.call[machine.n_calls].bytes = bytes;
        machine.call[machine.n_calls++].node = node;
    }
    pthread_mutex_unlock(&machine.lock);
    advise(memory, bytes, node % 2 ? MADV_DONTDUMP : MADV_DODUMP);
    return 0;
}

int hm_kernel_move_to(void *memory, size_t bytes, int node)
{
    machine.n_moving_calls++;
    return hm_kernel_prefer(memory, bytes, node);
}

void *hm_kernel_remap(void *memory, size_t bytes, size_t new_bytes, int flags, void *wanted)
{
    if (machine.remap_errno) {
        errno = machine.remap_errno;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mremap, memory, bytes, new_bytes, flags, wanted);
}

bool hm_kernel_limits_addresses(void)
{
    return machine.limits_addresses;
}

int hm_kernel_default(void *memory, size_t bytes)
{
    machine.default_memory = memory;
    machine.default_bytes = bytes;
    advise(memory, bytes, MADV_DODUMP);
    errno = machine.default_errno;
    return errno ? -1 : 0;
}

int hm_kernel_most_mappings(uint64_t *n)
{
    *n = machine.most_mappings ? machine.most_mappings : 65530;
    return 0;
}

/* Tells the node of each page. A page whose first byte is 0 was not touched, so it is on no node. */
int hm_kernel_where(size_t count, void *const *page, int *node)
{
    errno = machine.where_errno;
    if (errno)
        return -1;
    for (size_t i = 0; i < count; i++) {
        const char *at = page[i];
        node[i] = -ENOENT;
        for (size_t call = 0; call < machine.n_calls && *at; call++)
            if (at >= machine.call[call].memory && at < machine.call[call].memory + machine.call[call].bytes)
                node[i] = machine.call[call].node;
    }
    return 0;
}

int twosockets_set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(machine.free_bytes); i++)
        machine.free_bytes[i] = 1024 * MIB;
    machine.step_ns = 1000000000;
    machine.allowed = "0-3";
    machine.prefer_errno = machine.default_errno = machine.where_errno = machine.map_errno = 0;
    machine.n_calls = machine.prefer_left = machine.default_bytes = 0;
    machine.n_moving_calls = machine.remap_errno = 0;
    machine.has_real_runs = machine.limits_addresses = false;
    return 0;
}
