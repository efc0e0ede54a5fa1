/* SPDX-License-Identifier: Apache-2.0 */
/* Slurm's name of this node, for what slurmctld is told of it. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

#include "base/files.h"
#include "parts.h"
#include "slurm/nodename.h"

/* slurmctld would take a list, or ALL, for more nodes than this one, and drain them all. */
int hm_memmode_check_name(const char *node, struct hm_error *error)
{
    size_t length = strspn(node, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._");
    if (length > 0 && length <= HOST_NAME_MAX && node[length] == '\0' && strcasecmp(node, "all") != 0)
        return 0;
    return hm_fail(error, EINVAL, "\"%.64s\" is not the name of one node: give Slurm's name of this node with --node",
                   node);
}

int hm_memmode_name(const char *given, char name[HM_MEMMODE_NAME], struct hm_error *error)
{
    if (given)
        hm_text_copy(name, given, HM_MEMMODE_NAME);
    else if (hm_nodename_find(name, HM_MEMMODE_NAME, error) != 0)
        return -1;
    return hm_memmode_check_name(name, error);
}
