/* SPDX-License-Identifier: Apache-2.0 */
/* Plans the mode fsdax: on which sockets file systems are made, how large, and how much memory the kernel's map of
 * their pages takes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "scene.h"

/* The kernel's metadata for each page of a DAX device (struct page). */
#define USUAL_PAGE_BYTES 4096
#define MAP_BYTES_PER_PAGE 64

/* Why nothing can be made in the region, as the end of a refusal; NULL where it can be used. */
static const char *fault_of(const struct hm_dax_region *region)
{
    if (region->is_disabled)
        return "is disabled, so that nothing can be made in it (an administrator's step: ndctl enable-region)";
    if (region->is_read_only)
        return "is read-only, so that nothing can be made in it: its firmware or an administrator has made it so";
    if (!region->has_labels)
        return "has no labels, so that nothing can be cut from it (an administrator's step: hybridmem namespace "
               "provision)";
    return NULL;
}

/* Size of the socket's largest usable region; 0: there is none. */
static uint64_t largest_region(const struct hm_dax_regions *regions, int socket)
{
    uint64_t largest = 0;
    for (int i = 0; i < regions->n; i++)
        if (!fault_of(&regions->region[i]) && regions->region[i].socket == socket && regions->region[i].bytes > largest)
            largest = regions->region[i].bytes;
    return largest;
}

/* For a socket without a usable region: refuse, with the reason, where it has an unusable one. If the socket were left
 * out instead, the other sockets would have to give more than the job's GRES has taken of them. Socket -1 stands for
 * regions whose socket is unknown. */
static int check_faults(const struct hm_scene *scene, int socket)
{
    const struct hm_dax_regions *regions = &scene->abilities->regions;
    for (int i = 0; i < regions->n; i++)
        if (regions->region[i].socket == socket && fault_of(&regions->region[i]))
            return hm_scene_refuse(scene, "region%d %s", regions->region[i].id, fault_of(&regions->region[i]));
    return 0;
}

/* No chosen socket has a region: refuse, with the reason. */
static int refuse_regions(const struct hm_scene *scene)
{
    char list[HM_LIST_SHOWN + 8];
    if (check_faults(scene, -1) != 0)
        return -1;
    if (scene->abilities->regions.n > 0)
        return hm_scene_refuse(scene, "there is no region of persistent memory on %s",
                               hm_scene_list("socket", &scene->sockets, list, sizeof(list)));
    return hm_scene_refuse(scene, "there is no region of persistent memory (in App Direct mode)");
}

/* Get the chosen sockets that have usable regions. Where regions are not known, get all chosen sockets, with a
 * warning. */
static int choose_sockets(struct hm_scene *scene, struct hm_set *sockets)
{
    const struct hm_dax_regions *regions = &scene->abilities->regions;
    *sockets = scene->sockets;
    if (!regions->are_known) {
        hm_scene_warn(scene, "the node's regions of persistent memory are not known here");
        return 0;
    }
    for (int socket = hm_set_next(&scene->sockets, 0); socket >= 0;
         socket = hm_set_next(&scene->sockets, (unsigned)socket + 1)) {
        if (largest_region(regions, socket) > 0)
            continue;
        if (check_faults(scene, socket) != 0)
            return -1;
        hm_set_remove(sockets, (unsigned)socket);
    }
    return hm_set_is_empty(sockets) ? refuse_regions(scene) : 0;
}

/*
 * Refuse where a socket has no region that can hold its share. Whether there is room at the moment is checked when the
 * file system is made.
 */
static int check_size(const struct hm_scene *scene, const struct hm_set *sockets, uint64_t share)
{
    const struct hm_dax_regions *regions = &scene->abilities->regions;
    char size[2][24];
    for (int socket = hm_set_next(sockets, 0); regions->are_known && socket >= 0;
         socket = hm_set_next(sockets, (unsigned)socket + 1)) {
        uint64_t most = largest_region(regions, socket);
        if (share > most)
            return hm_scene_refuse(scene, "%s do not fit on socket %d, whose largest region has %s",
                                   hm_size_format(share, size[0], sizeof(size[0])), socket,
                                   hm_size_format(most, size[1], sizeof(size[1])));
    }
    return 0;
}

/* Check what the site offers for keeping, before any region is looked at. */
static int check_offer(const struct hm_scene *scene)
{
    const struct hm_config *config = scene->config;
    char size[2][24];
    if (!(config->keep_percent > 0))
        return hm_fail(scene->error, ENODEV,
                       "--hybrid-mem=%.48s: keep is not offered on this node: hybridmem.conf sets no fsdax_keep_share",
                       scene->request->text);
    if (config->keep_quota_bytes > 0 && scene->request->size_bytes > config->keep_quota_bytes)
        return hm_fail(scene->error, ENODEV,
                       "--hybrid-mem=%.48s: %s are above what each user may keep on a node, %s (fsdax_keep_quota)",
                       scene->request->text, hm_size_format(scene->request->size_bytes, size[0], sizeof(size[0])),
                       hm_size_format(config->keep_quota_bytes, size[1], sizeof(size[1])));
    return 0;
}

/* Refuse where a socket's share is more than all kept file systems together may take of its largest region. */
static int check_keep_share(const struct hm_scene *scene, const struct hm_set *sockets, uint64_t share)
{
    const struct hm_dax_regions *regions = &scene->abilities->regions;
    char size[3][24];
    for (int socket = hm_set_next(sockets, 0); regions->are_known && socket >= 0;
         socket = hm_set_next(sockets, (unsigned)socket + 1)) {
        uint64_t all = largest_region(regions, socket), most = hm_config_keep_share(scene->config, all);
        if (share > most)
            return hm_fail(scene->error, ENODEV,
                           "--hybrid-mem=%.48s: %s cannot be kept on socket %d: of its largest region, %s, all users "
                           "together may keep %s (fsdax_keep_share)",
                           scene->request->text, hm_size_format(share, size[0], sizeof(size[0])), socket,
                           hm_size_format(all, size[1], sizeof(size[1])),
                           hm_size_format(most, size[2], sizeof(size[2])));
    }
    return 0;
}

/* Describe how long the file system stays: "gone with the job", or until when. Returns `out`. */
static const char *describe_end(const struct hm_scene *scene, char *out, size_t size)
{
    static const struct {
        unsigned seconds;
        const char *name;
    } units[] = {{3600, "h"}, {60, "min"}, {1, "s"}};
    unsigned age_s = scene->config->keep_age_s;
    int unit = 0;
    while (age_s % units[unit].seconds != 0)
        unit++;
    if (!scene->request->keep)
        snprintf(out, size, "gone with the job");
    else
        snprintf(out, size, "kept on this node for your next jobs there until %u %s after it was first made",
                 age_s / units[unit].seconds, units[unit].name);
    return out;
}

static uint64_t page_bytes(const struct hm_scene *scene)
{
    return scene->abilities->page_bytes > 0 ? scene->abilities->page_bytes : USUAL_PAGE_BYTES;
}

static void explain(struct hm_scene *scene, uint64_t share)
{
    const struct hm_plan_fsdax *fsdax = &scene->plan->fsdax;
    char size[2][24], list[HM_LIST_SHOWN + 8], end[128];
    hm_scene_reason(scene,
                    "A private DAX file system of %s on %s%s, %s; the kernel's map of its pages takes "
                    "%s of %s (%d bytes for %d KiB); the job's memory is placed as Linux does by itself.",
                    hm_size_format(share, size[0], sizeof(size[0])),
                    hm_set_count(&fsdax->sockets) > 1 ? "each of " : "",
                    hm_scene_list("socket", &fsdax->sockets, list, sizeof(list)), describe_end(scene, end, sizeof(end)),
                    hm_size_format(fsdax->map_bytes, size[1], sizeof(size[1])),
                    scene->config->fsdax_map == HM_DAX_MAP_DRAM ? "DRAM" : "it", MAP_BYTES_PER_PAGE,
                    (int)(page_bytes(scene) >> 10));
}

int hm_plan_fsdax(struct hm_scene *scene)
{
    struct hm_plan_fsdax *fsdax = &scene->plan->fsdax;
    if (scene->request->socket != HM_SOCKET_ALL && hm_set_is_empty(&scene->where->cpus))
        return hm_scene_refuse(scene, "the job's cores are not known before it starts: use socket=all");
    if (scene->request->keep && check_offer(scene) < 0)
        return -1;
    if (hm_scene_choose(scene) < 0 || choose_sockets(scene, &fsdax->sockets) < 0)
        return -1;
    uint64_t n = hm_set_count(&fsdax->sockets), share = (scene->request->size_bytes + n - 1) / n;
    if (check_size(scene, &fsdax->sockets, share) < 0 ||
        (scene->request->keep && check_keep_share(scene, &fsdax->sockets, share) < 0))
        return -1;
    fsdax->is_wanted = true;
    fsdax->is_kept = scene->request->keep;
    fsdax->size_bytes = scene->request->size_bytes;
    fsdax->map_bytes = fsdax->size_bytes / page_bytes(scene) * MAP_BYTES_PER_PAGE;
    explain(scene, share);
    return 0;
}
