/* SPDX-License-Identifier: Apache-2.0 */
#include "boot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/files.h"
#include "core/topology/cache.h"
#include "core/topology/discover.h"

static int find(const struct hm_config *config, struct hm_topology *topology, struct hm_error *error)
{
    if (hm_discover(NULL, topology, error) != 0)
        return -1;
    int folder = hm_folder_open_own(AT_FDCWD, config->run_dir, HM_FOLDER_PASS, error);
    if (folder < 0)
        return -1;
    close(folder);
    return hm_topologycache_write(config->run_dir, topology, error);
}

int hm_topology_of_node(const struct hm_config *config, struct hm_topology *topology, struct hm_error *error)
{
    return hm_topologycache_read(config->run_dir, topology, NULL) == 0 ? 0 : find(config, topology, error);
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
