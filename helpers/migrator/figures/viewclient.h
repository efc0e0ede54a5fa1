/* SPDX-License-Identifier: Apache-2.0 */
/* Asks a running migrator for its view: the client's end of the socket in view.h. */
#ifndef HM_MIGRATOR_FIGURES_VIEWCLIENT_H
#define HM_MIGRATOR_FIGURES_VIEWCLIENT_H

#include <stddef.h>
#include <sys/types.h>

#include "view.h"

/* The name of a socket that may be a migrator's: anybody can choose such a name. hm_view_connect checks whose it is. */
struct hm_view_name {
    uint32_t job_id, step_id;
    char mark[HM_VIEW_MARK + 1];
};

/*
 * Lists the listening sockets with such names in the text of /proc/net/unix, in its order. Stores at most `room`.
 * Returns their number, which may be larger than `room`. The text may hold anything, as users choose names. Pure.
 */
size_t hm_view_parse_names(const char *text, struct hm_view_name *names, size_t room);

/* Lists the names of such sockets on this node. The caller frees *names. Returns their number, or -1. */
ssize_t hm_view_list(struct hm_view_name **names, struct hm_error *error);

/*
 * Connects to the migrator, which must run as `uid`. Never waits. Returns a descriptor, or -1: ECONNREFUSED: there is
 * no such migrator; EAGAIN: others are asking it; EPERM: the socket is another user's.
 */
int hm_view_connect(const struct hm_view_name *name, uid_t uid, struct hm_error *error);

/*
 * Asks for the view. Waits up to 5 s. Returns 0, or -1: EPIPE: the migrator has ended; ETIMEDOUT: it does not answer;
 * EBADMSG: it is of another version, or its view is not valid.
 */
int hm_view_ask(int fd, struct hm_view *view, struct hm_error *error);

/*
 * Are all values in range and all texts terminated? `view` may hold any bytes. Returns 0, or -1 (EBADMSG) with a text
 * that says what is wrong. Pure.
 */
int hm_view_check(const struct hm_view *view, struct hm_error *error);

#endif
