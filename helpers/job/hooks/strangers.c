/* SPDX-License-Identifier: Apache-2.0 */
#include "strangers.h"

#include "base/look.h"
#include "job/ledger/jobcgroup.h"
#include "job/ledger/ledger.h"

#define LOOK_MS 3000

struct question {
    const char *cgroups, *entries;
    uint32_t job_id;
};

static int look(const void *asked, void *found)
{
    const struct question *question = asked;
    *(bool *)found = hm_jobcgroup_has_stranger(question->cgroups, question->entries, question->job_id);
    return 0;
}

bool hm_strangers_are_there(const struct hm_config *config, const char *cgroups, uint32_t job_id)
{
    char entries[HM_CONFIG_PATH_MAX + 16];
    const struct question question = {cgroups, hm_ledger_folder_path(config, entries, sizeof(entries)), job_id};
    bool found = false;
    return hm_look(look, &question, &found, sizeof(found), LOOK_MS) != 0 || found;
}
