/* SPDX-License-Identifier: Apache-2.0 */
#include "others.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "place.h"

int hm_ledger_visit_others(const struct hm_config *config, uint32_t job_id, const struct hm_fields *part,
                           bool (*visit)(void *data, uint32_t id, const struct hm_job *other), void *data,
                           struct hm_error *error)
{
    uint32_t *ids = NULL;
    struct hm_job *other = malloc(sizeof(*other));
    int count = other ? hm_ledger_list(config, &ids, error) : hm_fail(error, ENOMEM, "no memory for a ledger's entry");
    int folder = count > 0 ? hm_place_open(config, error) : -1;
    int result = count < 0 || (count > 0 && folder < 0) ? -1 : 0;
    int number = errno;
    bool goes_on = result == 0;
    for (int i = 0; i < count && goes_on; i++)
        if (ids[i] != job_id) {
            int is_read = hm_ledger_read_part(folder, ids[i], part, other, NULL);
            goes_on = visit(data, ids[i], is_read == 0 ? other : NULL);
        }
    if (folder >= 0)
        close(folder);
    free(ids);
    free(other);
    errno = number;
    return result;
}
