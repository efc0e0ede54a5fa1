/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of hybridmem-namespace. */
#ifndef HM_NAMESPACE_COMMANDS_PARTS_H
#define HM_NAMESPACE_COMMANDS_PARTS_H

#include <jansson.h>

#include "core/config/config.h"
#include "namespace/pmem/pmem.h"
#include "namespace/ram/device.h"
#include "request.h"

/* REFUSED: what was asked for was not done, and nothing of it is left. LEFT: something is, and could not be removed. */
enum {
    HM_NAMESPACE_DONE,
    HM_NAMESPACE_REFUSED,
    HM_NAMESPACE_USAGE,
    HM_NAMESPACE_BUSY,
    HM_NAMESPACE_LATE,
    HM_NAMESPACE_LEFT
};

/* Each returns the exit status; where that is not 0, `error` says why, in one line. check has said it itself. */
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
int hm_namespace_ram_online(const struct hm_config *config, const struct hm_namespace_request *request,
                            struct hm_error *error);
int hm_namespace_ram_offline(const struct hm_config *config, const struct hm_namespace_request *request,
                             struct hm_error *error);
int hm_namespace_ram_list(const struct hm_config *config, const struct hm_namespace_request *request,
                          struct hm_error *error);

/* A namespace as create and list print it; `filesystem` is NULL where it is not known. NULL: no memory. */
json_t *hm_namespace_json(const struct hm_config *config, const struct hm_namespace *namespace, const char *filesystem);
/* Print {"<key>": [...]} on one line; takes the array. Returns an exit status. */
int hm_json_print(const char *key, json_t *array, struct hm_error *error);

/*
 * Remove what create makes for the request: all that the job has, or, with `keep`, all that the user keeps. The job
 * waits to be told: not long for what is in use. Returns an exit status; the text names each that is left, and why.
 */
int hm_namespace_undo(const char *cluster, const struct hm_namespace_request *request, struct hm_error *error);

/*
 * The list of --living: `living` itself, or what is in the file of that name; checked. The lock is held: a namespace
 * that is there now was made before the file is read, and its job was in the file before that. Returns a text to free,
 * or NULL.
 */
char *hm_living_read(const char *living, struct hm_error *error);

/* The DAX devices on these sockets (none is named: on all), by their addresses. Returns how many (free the array), or
 * -1. */
int hm_ram_choose(const struct hm_config *config, const struct hm_set *sockets, struct hm_ram_device **devices,
                  struct hm_error *error);

/* The device as it was before a change failed, which `error` tells of; where that cannot be, that is said behind it.
 * Returns -1, errno is kept. */
int hm_ram_put_back(const struct hm_ram_device *before, unsigned patience_s, struct hm_error *error);

#endif
