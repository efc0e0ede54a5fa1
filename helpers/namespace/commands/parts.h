/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of hybridmem-namespace. */
#ifndef HM_NAMESPACE_COMMANDS_PARTS_H
#define HM_NAMESPACE_COMMANDS_PARTS_H

#include <jansson.h>

#include "commandline.h"
#include "core/config/config.h"
#include "namespace/pmem/pmem.h"
#include "namespace/ram/device.h"

/* Exit statuses. */
enum {
    HM_NAMESPACE_DONE,
    HM_NAMESPACE_REFUSED, /* refused, or failed; nothing that create made is left behind */
    HM_NAMESPACE_USAGE,   /* wrong usage */
    HM_NAMESPACE_BUSY,    /* something is in use */
    HM_NAMESPACE_LATE,    /* the wipes' time is over, or memory, processes or descriptors are short: for a later try */
    HM_NAMESPACE_LEFT     /* failed, and something could not be removed */
};

/* The commands. Each returns the exit status. Where the status is not 0, `error` says why in one line; only check
 * prints the reason instead. */
int hm_namespace_create(const struct hm_config *config, const struct hm_namespace_request *request,
                        struct hm_error *error);
int hm_namespace_destroy(const struct hm_config *config, const struct hm_namespace_request *request,
                         struct hm_error *error);
int hm_namespace_reap(const struct hm_config *config, const struct hm_namespace_request *request,
                      struct hm_error *error);
int hm_namespace_list(const struct hm_config *config, const struct hm_namespace_request *request,
                      struct hm_error *error);
int hm_namespace_check(const struct hm_config *config, const struct hm_namespace_request *request,
                       struct hm_error *error);
int hm_namespace_provision(const struct hm_config *config, const struct hm_namespace_request *request,
                           struct hm_error *error);
int hm_namespace_ram_online(const struct hm_config *config, const struct hm_namespace_request *request,
                            struct hm_error *error);
int hm_namespace_ram_offline(const struct hm_config *config, const struct hm_namespace_request *request,
                             struct hm_error *error);
int hm_namespace_ram_list(const struct hm_config *config, const struct hm_namespace_request *request,
                          struct hm_error *error);

/* A namespace as create and list print it. `filesystem` is NULL where it is unknown. Returns NULL where memory is
 * short. */
json_t *hm_namespace_json(const struct hm_config *config, const struct hm_namespace *namespace, const char *filesystem);
/* Print {"<key>": [...]} on one line. Takes over the array. Returns an exit status. */
int hm_json_print(const char *key, json_t *array, struct hm_error *error);

/*
 * Remove what create makes for this request: everything that the job has, or, with `keep`, everything that the user
 * keeps. Waits only a short time for what is in use, as the job waits for this. Returns an exit status; the text names
 * what is left, and why.
 */
int hm_namespace_undo(const char *cluster, const struct hm_namespace_request *request, struct hm_error *error);

/*
 * Read and check the list of --living: `living` itself, or the content of the file with that name. Call this with the
 * lock held: a job is entered in the list before its namespaces are made, and under the lock nobody makes namespaces.
 * So a namespace whose job is not in the list has no living job. Returns a text to free, or NULL.
 */
char *hm_living_read(const char *living, struct hm_error *error);

/* Find the DAX devices on these sockets (with no socket named: on all), sorted by address. Returns how many (free the
 * array), or -1. */
int hm_ram_choose(const struct hm_config *config, const struct hm_set *sockets, struct hm_ram_device **devices,
                  struct hm_error *error);

/* Is there a device on each socket of the request (on any where it names none), and are all devices there online in the
 * request's zone? If so, prints that they are already online. Also returns false while hybridmem has set the kernel's
 * policy for new memory aside (ram/autoonline.h). As nothing is changed, the lock is not needed. */
bool hm_namespace_ram_is_online(const struct hm_config *config, const struct hm_namespace_request *request);

/* Refuse if a process has memory on the nodes, or a memory policy that names one of them: the kernel would move its
 * pages, or kill it at its next page. Returns 0, or -1 with EBUSY or another errno. */
int hm_ram_refuse_living(const struct hm_set *nodes, struct hm_error *error);

/*
 * Take all blocks of a device offline; `node` is the set of its one node. This takes time, so processes that came
 * meanwhile are looked for before the last block: when that block goes offline, the kernel changes their policies to
 * other nodes. Then they are looked for once more, to find policies that it does not change (preferred and static
 * ones). Returns 0, or -1; then any of the blocks may be offline, even all.
 */
int hm_ram_empty(struct hm_ram_device *device, const struct hm_set *node, unsigned patience_s, struct hm_error *error);

/* Put a device back into the state `before` after a change failed with `error`. Where that fails, too, the text says so
 * as well. Returns -1 and keeps errno. */
int hm_ram_put_back(const struct hm_ram_device *before, unsigned patience_s, struct hm_error *error);

#endif
