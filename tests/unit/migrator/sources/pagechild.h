/* SPDX-License-Identifier: Apache-2.0 */
/* A child process that touches pages on command. */
#ifndef PAGECHILD_H
#define PAGECHILD_H

#include <stdbool.h>
#include <sys/types.h>

#define PAGES 64

struct child {
    pid_t pid;
    int to, from;
    unsigned char *area;
};

/* Touch each `step`-th page from `first` on, in the child's first thread, or in its second one (`in_thread`). The first
 * order for the second thread only starts the thread. */
struct order {
    int first, step;
    bool in_thread;
};

void start(struct child *child);
/* Gives an order, and returns when it was carried out. */
void give(const struct child *child, struct order order);
void finish(struct child *child);

#endif
