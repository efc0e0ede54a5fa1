/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the state of the node: what the hardware says of its mode, and the kernel of the namespaces and the time. */
#include "base/clock.h"
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
    state->least_s = hardware->config->memmode_least_s;
    return hm_memmode_look(state, error);
}

int hm_memmode_look(struct hm_memmode_state *state, struct hm_error *error)
{
    state->up_s = (uint64_t)hm_clock_ms(CLOCK_BOOTTIME) / 1000;
    return hm_spaces_read(&state->spaces, error);
}
