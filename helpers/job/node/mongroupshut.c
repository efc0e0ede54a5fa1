/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps users out of the folder of resctrl's monitoring groups. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/look.h"
#include "job/ledger/log.h"
#include "mongroup.h"

#define SHUT_MS 2000

/* Runs in a child. Returns 0 or an errno. */
static int shut(const void *config, void *found)
{
    struct stat status;
    bool is_reached;
    int folder = hm_mongroup_folder(config, &is_reached);
    (void)found;
    bool is_shut = fstat(folder, &status) == 0 && fchmod(folder, status.st_mode & 07777 & ~HM_FOLDER_USERS) == 0;
    int number = is_shut ? 0 : errno;
    if (folder >= 0)
        close(folder);
    return number;
}

void hm_mongroup_shut(const struct hm_config *config)
{
    char nothing = 0;
    bool is_reached = false;
    int folder = config->resctrl ? hm_mongroup_folder(config, &is_reached) : -1;
    if (folder >= 0)
        close(folder);
    if (is_reached && hm_look(shut, config, &nothing, sizeof(nothing), SHUT_MS) != 0)
        hm_log(HM_LOG_ERROR, "%s/" HM_MONGROUP_FOLDER " cannot be kept from users: %s", config->resctrl_dir,
               strerror(errno));
}
