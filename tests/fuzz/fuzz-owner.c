/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes labels and marks of namespaces, lists of living jobs, and numa_maps. A label is accepted only with the uuid of
 * its name, and a label that is written is read as the same owner's. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "inputtext.h"
#include "namespace/pmem/mark.h"
#include "namespace/pmem/owner.h"
#include "namespace/ram/nodeholders.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Check the label of a kept namespace, and its mark: only the exact mark is accepted. */
static void check_user(const char *text, size_t size)
{
    static char page[HM_MARK_PAGE], ours[HM_MARK_PAGE];
    struct hm_owner user = {.kind = HM_OWNER_USER}, owner;
    char name[HM_OWNER_NAME], filesystem[HM_MARK_FS];
    uuid_t uuid;
    hm_owner_set_cluster(&user, text);
    memcpy(&user.uid, text, size < sizeof(user.uid) ? size : sizeof(user.uid));
    user.minute = user.uid % HM_OWNER_MINUTES;
    hm_owner_write(&user, name, uuid);
    if (hm_owner_read(name, uuid, &owner) != 0 || !hm_owner_is_equal(&owner, &user))
        abort();
    memset(page, 0, sizeof(page));
    memcpy(page, text, size < sizeof(page) ? size : sizeof(page));
    if (!hm_mark_parse(page, &user, filesystem))
        return;
    hm_mark_format(&user, filesystem, ours);
    if (memcmp(ours, page, sizeof(page)) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hm_owner owner, dash = {.cluster = "-", .job_id = 1};
    char again[HM_OWNER_NAME];
    uuid_t uuid, expected;
    char *text = input_text(data, size);
    if (!text)
        return 0;
    /* A name is accepted only with its own uuid, and what is written for any cluster is read again. */
    hm_owner_write(&dash, again, uuid);
    if (hm_owner_read(text, uuid, &owner) == 0 && strcmp(text, "hybridmem:-:1.0.0") != 0)
        abort();
    hm_owner_set_cluster(&dash, text);
    hm_owner_write(&dash, again, expected);
    if (hm_owner_read(again, expected, &owner) != 0 || strcmp(owner.cluster, dash.cluster) != 0)
        abort();
    check_user(text, size);
    if (hm_living_check(text, NULL) == 0)
        (void)hm_living_has(text, &dash);
    struct hm_node_use use = {0};
    struct hm_set nodes;
    hm_set_clear(&nodes);
    hm_set_add(&nodes, 4);
    hm_node_use_add(&use, text, &nodes);
    free(text);
    return 0;
}
