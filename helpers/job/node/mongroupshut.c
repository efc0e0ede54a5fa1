/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps users from listing the folder of resctrl's monitoring groups. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/spawn.h"
#include "job/ledger/log.h"
#include "mongroup.h"

#define SHUT_MS 2000

/* Runs in a child. Returns its exit status. */
static int shut(void *data)
{
    const int *folder = data;
    struct stat status;
    return fstat(*folder, &status) == 0 && fchmod(*folder, status.st_mode & 07777 & ~HM_FOLDER_LIST) == 0 ? 0 : 1;
}

void hm_mongroup_shut(const struct hm_config *config)
{
    bool is_listed = false;
    int folder = config->resctrl ? hm_mongroup_folder(config, &is_listed) : -1;
    if (folder >= 0 && is_listed) {
        const struct hm_spawn_call call = {.run = shut, .data = &folder, .kept = folder};
        pid_t child = hm_spawn_call(&call, NULL);
        if (child < 0 || hm_spawn_wait_for(child, SHUT_MS) != 0)
            hm_log(HM_LOG_ERROR, "%s/" HM_MONGROUP_FOLDER " cannot be kept from being listed by users",
                   config->resctrl_dir);
    }
    if (folder >= 0)
        close(folder);
}
