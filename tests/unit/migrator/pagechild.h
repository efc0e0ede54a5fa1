/* SPDX-License-Identifier: Apache-2.0 */
/* A process that touches pages when it is told to. */
#ifndef PAGECHILD_H
#define PAGECHILD_H

#include <stdbool.h>
#include <sys/types.h>

#define PAGES 64

/* A child that touches the pages it is told to, from its first thread or one that it then makes. */
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
/* Returns when it is done. */
void give(const struct child *child, struct order order);
void finish(struct child *child);

#endif
