/* SPDX-License-Identifier: Apache-2.0 */
/* A job whose namespaces a script makes and removes, in the place of hybridmem-namespace, and a node that has some. */
#ifndef NAMESPACESCRIPT_H
#define NAMESPACESCRIPT_H

#include "job/ledger/ledger.h"

/* What the script says of two namespaces that it made. */
#define MADE                                                                                                           \
    "echo "                                                                                                            \
    "'{\"namespaces\":[{\"name\":\"hybridmem:a-cluster-with-a-long-name-:7.2.0\",\"socket\":0,\"region\":\"region0\"," \
    "\"device\":\"/dev/pmem0.1\","                                                                                     \
    "\"uuid\":\"u\",\"bytes\":536870912,\"usable_bytes\":528482304,\"fs\":\"ext4\"},{\"name\":\"namespace1.0\","       \
    "\"socket\":1,\"device\":\"/dev/pmem1\",\"bytes\":536870912,\"fs\":\"ext4\"}]}'"

/* Of a test; namespaces_set_up brings them to their beginning, the entry of the job is in the ledger then. */
extern struct hm_config config;
extern struct hm_job job;
extern struct hm_error error;
extern bool is_missing, are_there; /* the program; labels of ours */
extern bool has_no_memory;         /* calloc fails */
extern int n_created;              /* runs of create */
extern unsigned left_s;            /* of fsdax_wipe_limit */
extern bool takes_all;             /* of it: create */
extern int pauses;                 /* of a second each, between tries */
extern void (*at_pause)(void);     /* NULL: nothing happens meanwhile */

int namespaces_set_up(void **state);

/* It writes its words, a line each, and goes on so. */
void script(const char *body);
/* The words of its last run, each with a blank behind it. */
void assert_told(const char *wanted);
/* Nor has it run since the last look. */
void assert_nothing_told(void);
void forget_told(void);

bool is_folder(const char *path);

#endif
