/* SPDX-License-Identifier: Apache-2.0 */
/* A child process that touches pages on command. */
#ifndef PAGECHILD_H
#define PAGECHILD_H

#include <stdbool.h>
#include <sys/types.h>

#define PAGES 64

/* The child touches the pages from its first thread, or from a second thread, which it then starts. */
struct child {
    pid_t pid;
    int to, from;
    unsigned char *area;
};

struct order {
    int first, step;
    bool in_thread;
};

void start(struct child *child);
/* Gives an order, and returns when it was carried out. */
void give(const struct child *child, struct order order);
void finish(struct child *child);

#endif
