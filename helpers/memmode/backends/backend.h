/* SPDX-License-Identifier: Apache-2.0 */
/* The table of what switches the memory's mode on a node. All of them read the hardware's own state, no file. */
#ifndef HM_MEMMODE_BACKENDS_BACKEND_H
#define HM_MEMMODE_BACKENDS_BACKEND_H

#include "core/config/config.h"
#include "memmode/decide/state.h"

#define HM_IPMCTL "/usr/bin/ipmctl"

struct hm_backend;

struct hm_hardware {
    const struct hm_backend *backend;
    const char *ipmctl;             /* the program's path */
    const struct hm_config *config; /* for Redfish */
};

/* Each function returns 0, or -1 with a text that names what has failed. */
struct hm_backend {
    enum hm_memmode_by by;
    /* Read what hm_memmode_now is about. */
    int (*read_now)(const struct hm_hardware *hardware, struct hm_memmode_state *state, struct hm_error *error);
    /* Read what hm_memmode_pending is about. `state` has what `read` has found. */
    int (*read_pending)(const struct hm_hardware *hardware, struct hm_memmode_state *state, struct hm_error *error);
    /* Read all but the namespaces. */
    int (*read)(const struct hm_hardware *hardware, struct hm_memmode_state *state, struct hm_error *error);
    /* Have the node come back in the mode: flat, cache or mixed. What counts is what is read back. */
    int (*set)(const struct hm_hardware *hardware, enum hm_memmode mode, struct hm_error *error);
    /* Take back what is pending. An error may mean that nothing was: what counts is what is read back. */
    int (*undo)(const struct hm_hardware *hardware, struct hm_error *error);
    /* Is what switches the mode not installed, so that nobody can have set a goal? */
    bool (*is_away)(const struct hm_hardware *hardware);
};

extern const struct hm_backend hm_backend_ipmctl, hm_backend_redfish;

#endif
