/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job whose namespaces are made and removed by a script in place of hybridmem-namespace, on a node that has
 * namespaces.
 */
#ifndef NAMESPACESCRIPT_H
#define NAMESPACESCRIPT_H

#include "job/ledger/ledger.h"

/* The script's answer about two namespaces that it made. */
#define MADE                                                                                                           \
    "echo "                                                                                                            \
    "'{\"namespaces\":[{\"name\":\"hybridmem:a-cluster-with-a-long-name-:7.2.0\",\"socket\":0,\"region\":\"region0\"," \
    "\"device\":\"/dev/pmem0.1\","                                                                                     \
    "\"uuid\":\"u\",\"bytes\":536870912,\"usable_bytes\":528482304,\"fs\":\"ext4\"},{\"name\":\"namespace1.0\","       \
    "\"socket\":1,\"device\":\"/dev/pmem1\",\"bytes\":536870912,\"fs\":\"ext4\"}]}'"

/* State of a test. namespaces_set_up resets all of it but `n_created`, and writes the job's entry to the ledger. */
extern struct hm_config config;
extern struct hm_job job;
extern struct hm_error error;
extern bool is_missing, are_there; /* the program is not installed; the node has hybridmem's labels, and devdax */
extern const char *labels[4];      /* of namespaces; the list ends with NULL */
extern uint32_t with_cgroup;       /* the job that has processes in a cgroup */
extern bool has_no_memory;         /* calloc fails */
extern int n_created;              /* starts of create, also those that failed */
extern unsigned left_s;            /* seconds left of fsdax_wipe_limit */
extern bool takes_all;             /* create uses all of that time */
extern int pauses;                 /* number of pauses of a second between tries */
#define PAUSE_S 100                /* how long such a pause takes by the clock of the test */
extern int turn_ms;                /* how long the last child process waited for its turn */
extern void (*at_pause)(void);     /* called in each pause; NULL: nothing is */
extern bool child_hangs;           /* a child process that removes folders is killed at the end of its time */
extern bool has_no_acls;           /* the file system of the folders has no ACLs */

int namespaces_set_up(void **state);
/* The same, and besides its job 7 there is job 12, with its folders. There are folders of 13, but no such job. */
int with_two_jobs(void **state);
/* Makes the folders of this job, for its first `n` sockets (at most 2). */
void make_folders(uint32_t job_id, int n);

/* Writes the script, which notes its arguments, one on each line, and then runs `body`. */
void script(const char *body);
/* Checks the arguments of the script's last run: `wanted` has each of them, followed by a blank. */
void assert_told(const char *wanted);
/* Checks that the script has not run yet, or not since forget_told. */
void assert_nothing_told(void);
void forget_told(void);

bool is_folder(const char *path);
/* Does the job have a folder for its file systems? */
bool has_folder(uint32_t job_id);

#endif
