/* SPDX-License-Identifier: Apache-2.0 */
/* Asking a running migrator for its view: the other end of the socket in view.h. */
#ifndef HM_MIGRATOR_FIGURES_VIEWCLIENT_H
#define HM_MIGRATOR_FIGURES_VIEWCLIENT_H

#include <stddef.h>

#include "view.h"

/* A migrator on this node, as its socket's name says. */
struct hm_view_name {
    uint32_t job_id, step_id;
};

/*
 * The migrators in the text of /proc/net/unix, in its order, each once. At most `room` are stored. Returns the count,
 * which may be larger. Lines that are no migrator's are skipped. Pure.
 */
size_t hm_view_parse_names(const char *text, struct hm_view_name *names, size_t room);

/* The same for this machine. Returns the count, or -1. */
int hm_view_list(struct hm_view_name *names, size_t room, struct hm_error *error);

/*
 * Connect to the migrator. Its user must be this process's own, or this process's user root. Returns a descriptor, or
 * -1: ECONNREFUSED where there is none, EPERM where the socket is somebody else's.
 */
int hm_view_connect(const struct hm_view_name *name, struct hm_error *error);

/* Ask for the view over the descriptor, waiting at most 5 s. Returns 0, or -1: EPIPE where the migrator has ended. */
int hm_view_ask(int fd, struct hm_view *view, struct hm_error *error);

/* Counts, figures and texts in range? Any bytes may be given. Returns 0, or -1 (EBADMSG, field's name). Pure. */
int hm_view_check(const struct hm_view *view, struct hm_error *error);

#endif
