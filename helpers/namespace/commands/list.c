/* SPDX-License-Identifier: Apache-2.0 */
/* The command "list": prints the namespaces of jobs and those that users keep. This file also makes the JSON output of
 * the commands "create" and "ram list". */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "namespace/pmem/blockdevice.h"
#include "namespace/pmem/keep.h"
#include "parts.h"

static json_t *text_or_null(const char *text)
{
    return text && text[0] ? json_string(text) : json_null();
}

static json_t *number_if(bool is_known, uint32_t number)
{
    return is_known ? json_integer((json_int_t)number) : json_null();
}

json_t *hm_namespace_json(const struct hm_config *config, const struct hm_namespace *namespace, const char *filesystem)
{
    const struct hm_owner *owner = &namespace->owner;
    char until[HM_MOMENT] = "";
    bool is_job = owner->kind == HM_OWNER_JOB;
    /* size of the device: all of it but the end is for the file system (hm_mark_room) */
    uint64_t usable = namespace->device[0] ? hm_device_bytes(namespace->device) : 0;
    if (!is_job)
        hm_keep_until(config, owner, until);
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:i, s:s, s:o, s:s, s:I, s:o, s:o}", "name", namespace->name, "job",
                     number_if(is_job, owner->job_id), "restart", number_if(is_job, owner->restart), "uid",
                     number_if(!is_job, owner->uid), "kept_until", text_or_null(until), "socket", (int)owner->socket,
                     "region", namespace->region, "device", text_or_null(namespace->device), "uuid", namespace->uuid,
                     "bytes", (json_int_t) namespace->bytes, "usable_bytes",
                     usable ? json_integer((json_int_t)usable) : json_null(), "fs", text_or_null(filesystem));
}

int hm_json_print(const char *key, json_t *array, struct hm_error *error)
{
    json_t *all = json_pack("{s:o}", key, array);
    char *text = all ? json_dumps(all, JSON_COMPACT) : NULL;
    int result = HM_NAMESPACE_REFUSED;
    if (!text)
        hm_fail(error, ENOMEM, "no memory to show the %s", key);
    else if (puts(text) < 0 || fflush(stdout) != 0)
        hm_fail_errno(error, "standard output");
    else
        result = HM_NAMESPACE_DONE;
    free(text);
    json_decref(all);
    return result;
}

static void print_line(const struct hm_config *config, const struct hm_namespace *namespace)
{
    char size[24], until[HM_MOMENT];
    const struct hm_owner *owner = &namespace->owner;
    printf("%-44s socket %u  %s  %s  %s", namespace->name, owner->socket, namespace->region,
           namespace->device[0] ? namespace->device : "no device",
           hm_size_format(namespace->bytes, size, sizeof(size)));
    if (owner->kind == HM_OWNER_USER)
        printf("  kept by uid %u until %s", owner->uid,
               *hm_keep_until(config, owner, until) ? until : "an unknown time (no hybridmem.conf was read)");
    putchar('\n');
}

int hm_namespace_list(const struct hm_config *config, const struct hm_namespace_request *request,
                      struct hm_error *error)
{
    struct hm_pmem *pmem = NULL;
    struct hm_namespace *owned = NULL;
    int status = HM_NAMESPACE_REFUSED;
    int n = hm_pmem_open(&pmem, error) == 0 ? hm_pmem_owned(pmem, &owned, error) : -1;
    json_t *shown = json_array();
    for (int i = 0; i < n; i++) {
        if (owned[i].bytes == 0 || !hm_owner_is_of_cluster(&owned[i].owner, request->cluster))
            continue;
        if (request->json)
            json_array_append_new(shown, hm_namespace_json(config, &owned[i], NULL));
        else
            print_line(config, &owned[i]);
    }
    if (n >= 0 && request->json)
        status = hm_json_print("namespaces", json_incref(shown), error);
    else if (n >= 0)
        status = HM_NAMESPACE_DONE;
    json_decref(shown);
    free(owned);
    hm_pmem_close(pmem);
    return status;
}
