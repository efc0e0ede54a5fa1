/* SPDX-License-Identifier: Apache-2.0 */
/* The orders that a process of the simulated job (daysim.h) gets. The process answers each with a number: the thread's
 * number where one was started or ended, 0 for mappings, -1 where it failed. It ends when the other end of its socket
 * is closed. */
#ifndef DAYORDER_H
#define DAYORDER_H

#include <stdint.h>

#define DAY_THREADS 6 /* besides the first */

enum order_kind { ORDER_MAP, ORDER_UNMAP, ORDER_THREAD, ORDER_JOIN };

struct order {
    enum order_kind kind;
    uint64_t address, bytes, piece, step; /* mappings of `piece` bytes, one every `step` bytes */
};

#endif
