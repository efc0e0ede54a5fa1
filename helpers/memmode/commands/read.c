/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the state of the node: what the hardware says of its mode, and the kernel of the namespaces. */
#include "parts.h"
#include "spaces.h"

int hm_memmode_read_now(const struct hm_hardware *hardware, struct hm_memmode_state *state, struct hm_error *error)
{
    *state = (struct hm_memmode_state){.by = hardware->backend->by};
    return hardware->backend->read_now(hardware, state, error);
}

int hm_memmode_read_pending(const struct hm_hardware *hardware, struct hm_memmode_state *state, struct hm_error *error)
{
    return hardware->backend->read_pending(hardware, state, error);
}

int hm_memmode_read(const struct hm_hardware *hardware, struct hm_memmode_state *state, struct hm_error *error)
{
    *state = (struct hm_memmode_state){.by = hardware->backend->by};
    if (hardware->backend->read(hardware, state, error) != 0)
        return -1;
    return hm_spaces_read(&state->spaces, error);
}
