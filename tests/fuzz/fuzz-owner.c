/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of namespaces, lists of living jobs, mountinfo and numa_maps: a label that counts as ours is written the same
 * way. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "helpers/namespace/holders.h"
#include "helpers/namespace/nodeholders.h"
#include "helpers/namespace/owner.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hm_owner owner, dash = {.cluster = "-", .job_id = 1};
    char again[HM_OWNER_NAME];
    uuid_t uuid, expected;
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    /* The uuid that the name would have, where it is a cluster and numbers at all; else any. */
    hm_owner_write(&dash, again, uuid);
    if (hm_owner_read(text, uuid, &owner) == 0 && strcmp(text, "hybridmem:-:1.0.0") != 0)
        abort();
    hm_owner_set_cluster(&dash, text);
    hm_owner_write(&dash, again, expected);
    if (hm_owner_read(again, expected, &owner) != 0 || strcmp(owner.cluster, dash.cluster) != 0)
        abort();
    if (hm_living_check(text, NULL) == 0)
        (void)hm_living_has(text, &dash);
    (void)hm_mountinfo_has(text, 0);
    struct hm_node_use use = {0};
    struct hm_set nodes;
    hm_set_clear(&nodes);
    hm_set_add(&nodes, 4);
    hm_node_use_add(&use, text, &nodes);
    free(text);
    return 0;
}
