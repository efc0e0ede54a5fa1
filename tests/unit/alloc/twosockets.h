/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated machine with two sockets for libhybridmem: nodes 0 and 1 are fast, 2 and 3 slow. The kernel's answers
 * about nodes are simulated: twosockets.c defines hm_layout_read and the functions of alloc/kernel.h. The mappings are
 * real. */
#ifndef TWOSOCKETS_H
#define TWOSOCKETS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MIB ((size_t)1 << 20)
#define MOST_CALLS 8192

struct twosockets {
    uint64_t free_bytes[4];
    const char *allowed;
    int prefer_errno, default_errno, where_errno, map_errno, remap_errno;
    bool has_real_runs; /* the runs of one node and the next are two mappings, as where policies are real */
    bool limits_addresses;
    int n_moving_calls;   /* of hm_kernel_move_to */
    size_t prefer_left;   /* number of hm_kernel_prefer calls that succeed before the others fail with prefer_errno */
    size_t most_mappings; /* vm.max_map_count, which the library reads once; 0: 65530 */
    uint64_t now_ns, step_ns; /* each look at the clock is so much later: 0, or by default a second */
    size_t n_calls;
    struct {
        char *memory;
        size_t bytes;
        int node;
    } call[MOST_CALLS];
    char *default_memory; /* range of the last call of hm_kernel_default, whether it failed or not */
    size_t default_bytes;
    pthread_mutex_t lock;
};

extern struct twosockets machine;

/* Set-up for cmocka: much memory is free, all nodes are allowed, no call fails. */
int twosockets_set_up(void **state);

#endif
