/* SPDX-License-Identifier: Apache-2.0 */
#include "topology.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "../core/discover.h"
#include "../core/tierscache.h"
#include "files.h"

int hm_topology_of_node(const struct hm_config *config, struct hm_topology *topology, struct hm_error *error)
{
    char path[HM_CONFIG_PATH_MAX + 16];
    snprintf(path, sizeof(path), "%s/topology", config->run_dir);
    if (hm_tierscache_read(path, topology, NULL) == 0)
        return 0;
    if (hm_discover(NULL, topology, error) != 0)
        return -1;
    int folder = hm_folder_open_own(AT_FDCWD, config->run_dir, 0755, error);
    if (folder < 0)
        return -1;
    close(folder);
    return hm_tierscache_write(path, topology, error);
}
