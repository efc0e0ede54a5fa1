/* SPDX-License-Identifier: Apache-2.0 */
/* A connection to the broker, hybridmem-damon, as its clients make it. */
#ifndef HM_MIGRATOR_SOURCES_BROKERLINK_H
#define HM_MIGRATOR_SOURCES_BROKERLINK_H

#include "base/error.h"
#include "migrator/damon/wire.h"

/* longest wait for the connection, and then for the first answer: the broker may be waiting for another client's
 * kdamond */
#define HM_BROKER_PATIENCE_S 10

/*
 * Connects to the broker's socket `path`, which is "" where there is no broker. Where its queue is full, waits for up
 * to `patience_s`, until `stop` is readable (ECANCELED; -1: nothing stops it). Returns the descriptor, which is
 * nonblocking, or -1 with a text.
 */
int hm_broker_connect(const char *path, int stop, unsigned patience_s, struct hm_error *error);
/* Waits until the broker's answer can be read. Returns 0, or -1 with a text (ETIMEDOUT, ECANCELED). */
int hm_broker_wait(int fd, int stop, struct hm_error *error);
/* Turns the broker's answer into an error. Returns 0, or -1 with the answer's number and text. */
int hm_broker_judge(const struct hm_damon_answer *answer, struct hm_error *error);

#endif
