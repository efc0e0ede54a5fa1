/* SPDX-License-Identifier: Apache-2.0 */
/* Two simulated devdax devices of eight memory blocks each, on the nodes 4 and 5, and processes that use their memory:
 * for tests of ram online and ram offline. ramfixture.c replaces functions of other files that these commands call. */
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
        int stuck;       /* block that cannot be taken offline; -1: none */
        unsigned others; /* number of tries in which another program brings every second block online first */
        bool is_refused; /* kmem refuses the device */
        bool stays;      /* it cannot be given back to devdax, and has no driver then */
        int node;
        uint64_t bytes;
    } device[DEVICES];
    int living;              /* node on which a process lives, plus one; 0: none */
    int lives_after;         /* the same as `living`, once the driver of any device was changed */
    int lives_after_offline; /* the same, once blocks were taken offline */
    bool comes_last;         /* the process of `lives_after_offline` comes only after the last block */
    bool had_last_taken;     /* the last block was taken offline, too */
    bool can_renew;          /* the node's new topology can be found */
    int renewed;             /* how often the new topology was asked for */
    bool is_open;            /* a process has the devices open */
    bool no_module;          /* the module kmem cannot be loaded */
    bool is_held;            /* the kernel's policy for new memory is set aside */
    bool held_at_bind;       /* the policy was set aside at the last change of a driver */
    bool stays_held;         /* the policy cannot be put back */
    enum hm_zone other_zone; /* zone into which another program (`others`) brings blocks */
    struct hm_config config;
    struct hm_error error;
};

extern struct fake_ram fake_ram;

/* Set-up for cmocka: two devices whose memory is not online, no process on their nodes, and no failures. */
int fake_ram_set_up(void **state);

/* Bring the first `n` blocks of the device online in this zone. The others are offline. */
void fake_ram_fill(int device, enum hm_zone zone, int n);

/* Check that the device has this driver, and all of its blocks are in this zone. */
void fake_ram_check(int device, enum hm_ram_driver driver, enum hm_zone zone);

/* Run a command for these sockets ("": all). Returns its exit status; its error is in fake_ram.error. */
int fake_ram_online(enum hm_zone zone, const char *sockets);
int fake_ram_offline(const char *sockets);

/* Returns what hm_namespace_ram_is_online says of these sockets. main.c calls that function before taking the lock. */
bool fake_ram_is_online(enum hm_zone zone, const char *sockets);

#endif
