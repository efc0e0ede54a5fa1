/* SPDX-License-Identifier: Apache-2.0 */
/* Sends the migrator's view, which `hybridmem top` shows (figures/view.h), to the migrator's own user and to root.
 * Never waits for a client. */
#ifndef HM_MIGRATOR_LIVE_VIEWSERVER_H
#define HM_MIGRATOR_LIVE_VIEWSERVER_H

#include <poll.h>

#include "migrator/decide/decide.h"
#include "migrator/figures/view.h"
#include "migrator/watch/ranks.h"

#define HM_VIEWSERVER_CLIENTS 4
#define HM_VIEWSERVER_FDS (HM_VIEWSERVER_CLIENTS + 1)

struct hm_viewserver {
    int listener;
    int client[HM_VIEWSERVER_CLIENTS];
    /* A stranger has connected, or a client could not be accepted, for want of a descriptor: nobody else is accepted
     * until the owner of this struct clears the flag. Otherwise anybody on the node could keep the migrator at work, or
     * a client that waits would. */
    bool is_shut;
};

/* Listens under a name of the step's (figures/view.h). Returns 0, or -1. */
int hm_viewserver_open(struct hm_viewserver *server, uint32_t job_id, uint32_t step_id, struct hm_error *error);
void hm_viewserver_close(struct hm_viewserver *server);
/* Fills in the HM_VIEWSERVER_FDS entries for poll(2). */
void hm_viewserver_watch(const struct hm_viewserver *server, struct pollfd *fds);
/* After poll(2): accepts new clients, and answers those that ask. */
void hm_viewserver_serve(struct hm_viewserver *server, const struct pollfd *fds, const struct hm_view *view);

/*
 * Makes rows of extents that are sorted by `first`. Neighbours are joined until all rows fit; processes beyond the last
 * row are left out. Returns the number of rows. Pure.
 */
uint32_t hm_viewserver_rows(const struct hm_extent *extents, size_t count, const struct hm_ranks *ranks,
                            struct hm_view_row rows[HM_VIEW_ROWS]);

#endif
