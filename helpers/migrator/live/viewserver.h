/* SPDX-License-Identifier: Apache-2.0 */
/* Showing the migrator's view to those who may see it: its own user and root. Never waits for anybody. */
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
};

/* Listen under the name of the step. Returns 0, or -1 (EADDRINUSE: the name is taken). */
int hm_viewserver_open(struct hm_viewserver *server, uint32_t job_id, uint32_t step_id, struct hm_error *error);
void hm_viewserver_close(struct hm_viewserver *server);
/* Fill HM_VIEWSERVER_FDS entries to poll. */
void hm_viewserver_watch(const struct hm_viewserver *server, struct pollfd *fds);
/* After poll: take who comes, answer who asks. */
void hm_viewserver_serve(struct hm_viewserver *server, const struct pollfd *fds, const struct hm_view *view);

/* Rows of regions that are sorted by `first`: neighbours are joined until they fit, those of processes past the last
 * row are left out. Returns the number of rows. Pure. */
uint32_t hm_viewserver_rows(const struct hm_region *regions, size_t count, const struct hm_ranks *ranks,
                            struct hm_view_row rows[HM_VIEW_ROWS]);

#endif
