/* SPDX-License-Identifier: Apache-2.0 */
/* The mode fsdax: on which sockets file systems are made, how large, and what they cost in DRAM. */
#include <stdio.h>
#include <string.h>

#include "planscene.h"
#include "size.h"

/* The kernel's metadata for each page of a DAX device (struct page). */
#define PAGE_BYTES 4096
#define MAP_BYTES_PER_PAGE 64

/* The largest region with labels on the socket; 0: none. */
static uint64_t largest_region(const struct hm_dax_regions *regions, unsigned socket)
{
    uint64_t largest = 0;
    for (int i = 0; i < regions->n; i++)
        if (regions->region[i].has_labels && regions->region[i].socket == (int)socket &&
            regions->region[i].bytes > largest)
            largest = regions->region[i].bytes;
    return largest;
}

/* No region of this node can be used: says what is in the way. */
static int refuse_regions(const struct hm_scene *scene)
{
    const struct hm_dax_regions *regions = &scene->abilities->regions;
    char list[HM_LIST_SHOWN + 8];
    for (int i = 0; i < regions->n; i++)
        if (!regions->region[i].has_labels)
            return hm_scene_refuse(scene,
                                   "region%d has no labels, so that nothing can be cut from it (an administrator's "
                                   "step: ndctl init-labels)",
                                   regions->region[i].id);
    if (regions->n > 0)
        return hm_scene_refuse(scene, "there is no region of persistent memory on %s",
                               hm_scene_list("socket", &scene->sockets, list, sizeof(list)));
    return hm_scene_refuse(scene, "there is no region of persistent memory (in App Direct mode)");
}

/* Of the chosen sockets, those that have regions; all of them where nothing is known of regions. */
static int choose_sockets(struct hm_scene *scene, struct hm_set *sockets)
{
    const struct hm_dax_regions *regions = &scene->abilities->regions;
    *sockets = scene->sockets;
    if (!regions->are_known) {
        hm_scene_warn(scene, "the node's regions of persistent memory are not known here");
        return 0;
    }
    for (int socket = hm_set_next(&scene->sockets, 0); socket >= 0;
         socket = hm_set_next(&scene->sockets, (unsigned)socket + 1))
        if (largest_region(regions, (unsigned)socket) == 0)
            hm_set_remove(sockets, (unsigned)socket);
    return hm_set_is_empty(sockets) ? refuse_regions(scene) : 0;
}

/* What no region is large enough for. What is free in them at the moment is for the one to say who takes it. */
static int check_size(const struct hm_scene *scene, const struct hm_set *sockets, uint64_t share)
{
    const struct hm_dax_regions *regions = &scene->abilities->regions;
    char size[2][24];
    for (int socket = hm_set_next(sockets, 0); regions->are_known && socket >= 0;
         socket = hm_set_next(sockets, (unsigned)socket + 1)) {
        uint64_t most = largest_region(regions, (unsigned)socket);
        if (share > most)
            return hm_scene_refuse(scene, "%s do not fit on socket %d, whose largest region has %s",
                                   hm_size_format(share, size[0], sizeof(size[0])), socket,
                                   hm_size_format(most, size[1], sizeof(size[1])));
    }
    return 0;
}

static void explain(struct hm_scene *scene, uint64_t share)
{
    const struct hm_plan_fsdax *fsdax = &scene->plan->fsdax;
    char size[2][24], list[HM_LIST_SHOWN + 8];
    hm_scene_reason(scene,
                    "A private DAX file system of %s on %s%s, gone with the job; the kernel's map of its pages takes "
                    "%s of %s (64 bytes for 4 KiB); the job's memory is placed as Linux does by itself.",
                    hm_size_format(share, size[0], sizeof(size[0])),
                    hm_set_count(&fsdax->sockets) > 1 ? "each of " : "",
                    hm_scene_list("socket", &fsdax->sockets, list, sizeof(list)),
                    hm_size_format(fsdax->map_bytes, size[1], sizeof(size[1])),
                    scene->config->fsdax_map == HM_DAX_MAP_DRAM ? "DRAM" : "it");
}

int hm_plan_fsdax(struct hm_scene *scene)
{
    struct hm_plan_fsdax *fsdax = &scene->plan->fsdax;
    if (scene->request->socket != HM_SOCKET_ALL && hm_set_is_empty(&scene->where->cpus))
        return hm_scene_refuse(scene, "the job's cores are not known before it starts: use socket=all");
    if (hm_scene_choose(scene) < 0 || choose_sockets(scene, &fsdax->sockets) < 0)
        return -1;
    uint64_t n = hm_set_count(&fsdax->sockets), share = (scene->request->size_bytes + n - 1) / n;
    if (check_size(scene, &fsdax->sockets, share) < 0)
        return -1;
    fsdax->is_wanted = true;
    fsdax->size_bytes = scene->request->size_bytes;
    fsdax->map_bytes = fsdax->size_bytes / PAGE_BYTES * MAP_BYTES_PER_PAGE;
    explain(scene, share);
    return 0;
}
