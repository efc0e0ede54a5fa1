/* SPDX-License-Identifier: Apache-2.0 */
#include "isolate.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/installed.h"
#include "base/preloadable.h"

#define PRELOAD "LD_PRELOAD"
#define SEPARATORS ": "
#define NODES_TEXT 1024
#define SHOWN 120   /* bytes of a program's name */
#define VALUE 32768 /* longest LD_PRELOAD that is handled, in bytes; Linux allows 128 KiB */

char *hm_isolate_strip(char *value, const char *library)
{
    char *to = value;
    size_t wanted = strlen(library);
    for (const char *from = value; *from;) {
        size_t length = strcspn(from, SEPARATORS), whole = length + strspn(from + length, SEPARATORS);
        if (length != wanted || memcmp(from, library, length) != 0) {
            memmove(to, from, whole);
            to += whole;
        }
        from += whole;
    }
    *to = '\0';
    while (to > value && strchr(SEPARATORS, to[-1]))
        *--to = '\0';
    return value;
}

/*
 * Reads LD_PRELOAD without our libraries; "" if nothing is left. Returns 1 if something was removed (a library, or
 * separators at the end), 0 if not, -1 with a text.
 */
static int read_preload(const struct hm_environment *environment, char *value, size_t size, struct hm_error *error)
{
    value[0] = '\0';
    if (environment->get(environment->data, PRELOAD, value, size) != 0)
        return errno == ENOENT ? 0 : hm_fail_errno(error, "the task's " PRELOAD " cannot be read");
    size_t before = strlen(value);
    hm_isolate_strip(value, hm_guide_library());
    hm_isolate_strip(value, hm_sites_library());
    return strlen(hm_isolate_strip(value, hm_preload_library())) < before;
}

/* Sets the variable; unsets it if `value` is "". */
static int set(const struct hm_environment *environment, const char *name, const char *value, struct hm_error *error)
{
    int result =
        value[0] ? environment->set(environment->data, name, value) : environment->unset(environment->data, name);
    return result == 0 ? 0 : hm_fail_errno(error, "%s cannot be set in the task's environment", name);
}

int hm_isolate_leave(const struct hm_environment *environment, struct hm_error *error)
{
    static char value[VALUE];
    char mark[16];
    if (environment->get(environment->data, HM_ISOLATE_JOB, mark, sizeof(mark)) != 0 && errno == ENOENT)
        return 0;
    int is_changed = read_preload(environment, value, sizeof(value), error);
    if (is_changed < 0 || (is_changed && set(environment, PRELOAD, value, error) != 0) ||
        set(environment, HM_ISOLATE_NODES, "", error) != 0 || set(environment, HM_ISOLATE_GUIDE, "", error) != 0 ||
        set(environment, HM_ISOLATE_SITES, "", error) != 0)
        return -1;
    return set(environment, HM_ISOLATE_JOB, "", error);
}

/*
 * Appends nodes with their sockets, as "fast=0@0,1@1". Returns the length of the text so far, which may exceed `size`.
 */
static size_t add_nodes(const char *word, const struct hm_set *nodes, const struct hm_topology *topology, size_t used,
                        char *out, size_t size)
{
    const char *before = word;
    for (int i = 0; i < topology->n_nodes && used < size; i++) {
        const struct hm_node *node = &topology->node[i];
        if (!hm_set_has(nodes, (unsigned)node->id))
            continue;
        used += (size_t)snprintf(out + used, size - used, "%s%d", before, node->id);
        if (node->socket >= 0 && used < size)
            used += (size_t)snprintf(out + used, size - used, "@%d", node->socket);
        before = ",";
    }
    return used;
}

int hm_isolate_nodes(const struct hm_plan *plan, const struct hm_topology *topology, char *out, size_t size)
{
    bool is_guided = plan->guide.is_wanted;
    out[0] = '\0';
    size_t used =
        add_nodes("fast=", is_guided ? &plan->guide.fast_nodes : &plan->migration.fast_nodes, topology, 0, out, size);
    used = add_nodes(" slow=", is_guided ? &plan->guide.slow_nodes : &plan->migration.slow_nodes, topology, used, out,
                     size);
    return used < size ? 0 : hm_fail(NULL, ENAMETOOLONG, "too many nodes");
}

/* Puts the library before the user's own, and sets the variable that it reads. */
static int enter(const struct hm_environment *environment, const char *library, const char *variable, const char *text,
                 uint32_t job_id, struct hm_error *error)
{
    static char own[VALUE], value[VALUE + 1024];
    char job[16];
    if (read_preload(environment, own, sizeof(own), error) < 0)
        return -1;
    snprintf(value, sizeof(value), "%s%s%s", library, own[0] ? ":" : "", own);
    snprintf(job, sizeof(job), "%u", job_id);
    /* The mark is set first: if a later call fails, hm_isolate_leave can undo all of it. */
    if (set(environment, HM_ISOLATE_JOB, job, error) != 0 || set(environment, variable, text, error) != 0)
        return -1;
    return set(environment, PRELOAD, value, error);
}

/* Looks for a name without a slash, as Slurm does. Returns whether the path is that of a program. */
static bool find_in_path(const struct hm_environment *environment, const char *name, char path[PATH_MAX])
{
    static char folders[VALUE];
    if (environment->get(environment->data, "PATH", folders, sizeof(folders)) != 0)
        return false;
    for (const char *at = folders; *at; at += *at == ':') {
        int length = (int)strcspn(at, ":");
        int needed = snprintf(path, PATH_MAX, "%.*s/%s", length > 0 ? length : 1, length > 0 ? at : ".", name);
        if (needed < PATH_MAX && access(path, X_OK) == 0)
            return true;
        at += length;
    }
    return false;
}

bool hm_isolate_breaks(const struct hm_environment *environment, struct hm_error *error)
{
    const char *name = environment->words ? environment->words[0] : NULL;
    char found[PATH_MAX], why[HM_PRELOADABLE_WHY];
    if (!name || (!strchr(name, '/') && !find_in_path(environment, name, found)))
        return false;
    if (hm_preloadable(strchr(name, '/') ? name : found, why) != HM_PRELOADABLE_BREAKS)
        return false;
    hm_fail(error, ENOEXEC, "%.*s %s: it runs, and its memory starts where Linux places it", SHOWN, name, why);
    return true;
}

int hm_isolate_enter(const struct hm_environment *environment, const struct hm_plan *plan,
                     const struct hm_topology *topology, uint32_t job_id, struct hm_error *error)
{
    char nodes[NODES_TEXT];
    if (hm_isolate_nodes(plan, topology, nodes, sizeof(nodes)) != 0)
        return hm_fail(error, ENAMETOOLONG, "the tiers have more nodes than " HM_ISOLATE_NODES " can name");
    return enter(environment, hm_preload_library(), HM_ISOLATE_NODES, nodes, job_id, error);
}

int hm_isolate_enter_guided(const struct hm_environment *environment, const char *text, uint32_t job_id,
                            struct hm_error *error)
{
    return enter(environment, hm_guide_library(), HM_ISOLATE_GUIDE, text, job_id, error);
}

int hm_isolate_enter_profiled(const struct hm_environment *environment, const char *folder, uint32_t job_id,
                              struct hm_error *error)
{
    return enter(environment, hm_sites_library(), HM_ISOLATE_SITES, folder, job_id, error);
}
