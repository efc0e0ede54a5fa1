/* SPDX-License-Identifier: Apache-2.0 */
#include "choice.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/size.h"
#include "commands.h"

int hm_sites_take_fast(void *data, const char *text, struct hm_error *error)
{
    struct hm_sites_choice *choice = data;
    choice->has_fast = true;
    if (strchr(text, '%'))
        return hm_size_parse_percent(text, &choice->percent, error);
    choice->percent = -1;
    return hm_size_parse(text, &choice->bytes, error);
}

int hm_sites_take_packer(void *data, const char *text, struct hm_error *error)
{
    struct hm_sites_choice *choice = data;
    choice->packer = hm_packer_find(text, error);
    return choice->packer ? 0 : -1;
}

uint64_t hm_sites_capacity(const struct hm_sites_choice *choice, const struct hm_profile *profile)
{
    uint64_t bytes = choice->percent < 0 ? choice->bytes
                                         : (uint64_t)((double)hm_profile_room_of_all(profile) * choice->percent / 100);
    return hm_least(bytes, HM_PACK_MOST);
}

int hm_sites_shared(char folder[HM_CONFIG_PATH_MAX], struct hm_error *error)
{
    struct hm_config *config = malloc(sizeof(*config));
    if (!config)
        return hm_fail(error, ENOMEM, "out of memory");
    int status = hm_config_read(hm_config_path(), false, config, error);
    snprintf(folder, HM_CONFIG_PATH_MAX, "%s", status == 0 ? config->profile_dir : "");
    free(config);
    return status;
}
