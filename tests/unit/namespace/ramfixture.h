/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two devdax devices that are not there, of eight memory blocks each, on the nodes 4 and 5, and who lives on them: what
 * ram online and ram offline ask and change (libdaxctl's calls are ours, others linked by --wrap).
 */
#ifndef RAMFIXTURE_H
#define RAMFIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "namespace/commands/parts.h"

#define BLOCKS 8
#define BLOCK (UINT64_C(128) << 20)
#define DEVICES 2

struct fake_ram {
    struct {
        enum hm_ram_driver driver;
        enum hm_zone block[BLOCKS];
        int stuck;       /* this block cannot be taken offline, -1: all can */
        unsigned others; /* so often another program brings new blocks online first */
        bool is_refused; /* by kmem */
        bool stays;      /* no device again, without a driver */
        int node;
        uint64_t bytes;
    } device[DEVICES];
    int living;       /* on these nodes, one more than the node: 0 for none */
    int lives_after;  /* a first device has been taken: the same for `living` */
    int lives_behind; /* blocks have been taken offline: the same */
    bool comes_last;  /* of `lives_behind`: the last block too */
    bool had_last_taken;
    bool can_renew, is_open, no_module, is_held, held_at_bind, stays_held;
    int renewed;
    enum hm_zone other_zone;
    struct hm_config config;
    struct hm_error error;
};

extern struct fake_ram fake_ram;

/* Of cmocka: two devices that are no memory, nobody lives there, and nothing fails. */
int fake_ram_set_up(void **state);

/* The first `n` blocks of the device are memory, in the zone. */
void fake_ram_fill(int device, enum hm_zone zone, int n);

/* The device has this driver, and all of its blocks are in the zone. */
void fake_ram_check(int device, enum hm_ram_driver driver, enum hm_zone zone);

/* The commands, for the sockets ("" for all): an exit status; what they say is in fake_ram.error. */
int fake_ram_online(enum hm_zone zone, const char *sockets);
int fake_ram_offline(const char *sockets);

#endif
