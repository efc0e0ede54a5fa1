/* SPDX-License-Identifier: Apache-2.0 */
#include "boot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/files.h"
#include "core/topology/cache.h"
#include "core/topology/discover.h"

#define PATH (HM_CONFIG_PATH_MAX + 16)

static void kept_path(const struct hm_config *config, char path[PATH])
{
    snprintf(path, PATH, "%s/topology", config->run_dir);
}

static int find(const struct hm_config *config, struct hm_topology *topology, struct hm_error *error)
{
    char path[PATH];
    if (hm_discover(NULL, topology, error) != 0)
        return -1;
    int folder = hm_folder_open_own(AT_FDCWD, config->run_dir, 0755, error);
    if (folder < 0)
        return -1;
    close(folder);
    kept_path(config, path);
    return hm_topologycache_write(path, topology, error);
}

int hm_topology_of_node(const struct hm_config *config, struct hm_topology *topology, struct hm_error *error)
{
    char path[PATH];
    kept_path(config, path);
    return hm_topologycache_read(path, topology, NULL) == 0 ? 0 : find(config, topology, error);
}

int hm_topology_renew(const struct hm_config *config, struct hm_error *error)
{
    struct hm_topology *topology = malloc(sizeof(*topology));
    if (!topology)
        return hm_fail(error, ENOMEM, "no memory for the topology");
    int result = find(config, topology, error);
    free(topology);
    return result;
}
