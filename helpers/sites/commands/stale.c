/* SPDX-License-Identifier: Apache-2.0 */
#include "stale.h"

#include <stdlib.h>
#include <string.h>

#include "sites/profile/siteid.h"
#include "sites/profile/symbols.h"

/* An object as it was, and as it is now. */
struct build {
    unsigned char id[HM_BUILDID_MOST];
    size_t id_length; /* 0: it has none */
};
struct object {
    const char *path; /* now */
    struct build old, now;
    bool is_same;
    struct hm_symbols symbols; /* now; none where it is the same */
};

static struct build build_of(const char *text)
{
    struct build build = {.id_length = 0};
    for (; text && text[0] && text[1] && build.id_length < HM_BUILDID_MOST; text += 2) {
        const char digits[] = {text[0], text[1], '\0'};
        build.id[build.id_length++] = (unsigned char)strtoul(digits, NULL, 16);
    }
    return build;
}

/* A library that is not there now, as the program loads it from elsewhere, is taken for the same, and so is what has
 * no path, as the kernel's. Returns whether it is the same. */
static bool look(const struct hm_profile *profile, const struct hm_profile_object *from, const char *program,
                 struct object *object)
{
    char now[HM_BUILDID_TEXT];
    bool is_program = profile->build_id && from->build_id && strcmp(profile->build_id, from->build_id) == 0;
    object->path = is_program ? program : from->path;
    object->old = object->now = build_of(from->build_id);
    object->is_same = !from->build_id || object->path[0] != '/' || hm_buildid_of_file(object->path, now, NULL) < 0 ||
                      strcmp(now, from->build_id) == 0;
    if (!object->is_same) {
        object->now = build_of(now);
        hm_symbols_read(object->path, &object->symbols);
    }
    return object->is_same;
}

/* Where a return address is now. Returns 0, or -1: that is not known. */
static int find(const struct hm_profile_object *from, const struct object *object, uint64_t old, uint64_t *now)
{
    *now = old;
    if (object->is_same)
        return 0;
    const struct hm_profile_function *function = hm_profile_function_at(from, old);
    const struct hm_symbol *symbol = function ? hm_symbols_named(&object->symbols, function->name) : NULL;
    if (!symbol || symbol->bytes != function->bytes)
        return -1;
    *now = symbol->start + (old - function->start);
    return 0;
}

static struct hm_siteid_frame frame_of(const char *path, const struct build *build, uint64_t offset)
{
    struct hm_siteid_frame frame = {.path = path, .offset = offset, .id_length = build->id_length};
    memcpy(frame.id, build->id, sizeof(frame.id));
    return frame;
}

/* Gives a site its id of now. False where it is not found. */
static bool translate(const struct hm_profile *profile, const struct object *objects, struct hm_profile_site *site)
{
    struct hm_siteid_frame old[HM_PROFILE_DEPTH] = {{.path = NULL}}, now[HM_PROFILE_DEPTH] = {{.path = NULL}};
    for (int i = 0; i < site->n_frames; i++) {
        const struct hm_profile_frame *from = &site->frame[i];
        uint64_t offset;
        if (from->object < 0) /* code in no file, whose address is not in the id */
            continue;
        const struct object *object = &objects[from->object];
        if (find(&profile->object[from->object], object, from->offset, &offset) < 0)
            return false;
        old[i] = frame_of(profile->object[from->object].path, &object->old, from->offset);
        now[i] = frame_of(object->path, &object->now, offset);
    }
    if (hm_siteid(old, (unsigned)site->n_frames) != site->id)
        return false;
    site->id = hm_siteid(now, (unsigned)site->n_frames);
    return true;
}

int hm_stale_translate(struct hm_profile *profile, const char *path, struct hm_stale *stale)
{
    struct object *objects = calloc(profile->n_objects + 1, sizeof(*objects));
    bool is_same = true;
    *stale = (struct hm_stale){0, 0};
    if (!objects)
        return -1;
    for (size_t i = 0; i < profile->n_objects; i++)
        is_same = look(profile, &profile->object[i], path, &objects[i]) && is_same;
    for (size_t i = 0; i < profile->n_sites && !is_same; i++) {
        struct hm_profile_site *site = &profile->site[i];
        if (site->n_frames == 0)
            continue;
        stale->n_sites++;
        if (site->is_given || translate(profile, objects, site)) /* an id that was given stays */
            stale->n_found++;
        else
            site->allocations = 0;
    }
    for (size_t i = 0; i < profile->n_objects; i++)
        hm_symbols_free(&objects[i].symbols);
    free(objects);
    return 0;
}
