/* SPDX-License-Identifier: Apache-2.0 */
#include "boot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/files.h"
#include "base/looktext.h"
#include "core/topology/cache.h"
#include "core/topology/discover.h"

#define PATIENCE_MS 5000

struct keeping {
    const char *run_dir;
    const struct hm_topology *topology;
};

/* Runs in a child process. Returns 0 or an errno. */
static int keep_here(const void *question, void *found)
{
    const struct keeping *keeping = question;
    return hm_topologycache_write(keeping->run_dir, keeping->topology, found) == 0 ? 0 : errno;
}

/*
 * Keep the topology in its file. A user can mount a file system of theirs on the old file, in a namespace of their own.
 * Whoever replaces the file then unmounts the file system, which may last for ever (job/namespaces/daxfolders.h). So a
 * child process does it, and is left behind if that takes long: by then the new file is in its place.
 */
static int keep(const struct hm_config *config, struct hm_topology *topology, struct hm_error *error)
{
    const struct keeping keeping = {config->run_dir, topology};
    const struct hm_lookwork work = {.run = keep_here,
                                     .question = &keeping,
                                     .patience_ms = PATIENCE_MS,
                                     .cannot = "cannot write the topology cache",
                                     .late = "a file system that was mounted on the old one is still in use"};
    struct hm_error why = {{0}};
    if (hm_looktext_do(&work, &why) == 0)
        return 0;
    return errno == ETIMEDOUT ? hm_topologycache_read(config->run_dir, topology, error)
                              : hm_fail(error, errno, "%s", why.text);
}

static int find(const struct hm_config *config, struct hm_topology *topology, struct hm_error *error)
{
    if (hm_discover(NULL, topology, error) != 0)
        return -1;
    int folder = hm_folder_open_own(AT_FDCWD, config->run_dir, HM_FOLDER_PASS, error);
    if (folder < 0)
        return -1;
    close(folder);
    return keep(config, topology, error);
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
