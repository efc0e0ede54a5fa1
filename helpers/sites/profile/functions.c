/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out which functions the frames of a profile are in, while the programs are still the same builds. */
#include <string.h>

#include "buildid.h"
#include "profile.h"
#include "symbols.h"

bool hm_profile_is_there(const struct hm_profile_object *object)
{
    char build_id[HM_BUILDID_TEXT];
    return object->build_id && object->path[0] == '/' && hm_buildid_of_file(object->path, build_id, NULL) == 0 &&
           strcmp(build_id, object->build_id) == 0;
}

/* Adds the function of a frame that is in this object, unless others have its name: in a later build nobody could tell
 * which of them it is. Returns 0, or -1. */
static int add_function(struct hm_profile_object *object, const struct hm_symbols *symbols, uint64_t offset)
{
    const struct hm_symbol *symbol = offset > 0 ? hm_symbols_at(symbols, offset - 1) : NULL;
    bool is_named = symbol && hm_symbols_named(symbols, symbol->name) != NULL;
    return is_named ? hm_profile_add_function(object, symbol->name, symbol->start, symbol->bytes) : 0;
}

int hm_profile_find_functions(struct hm_profile *profile)
{
    int status = 0;
    for (size_t o = 0; o < profile->n_objects && status == 0; o++) {
        struct hm_profile_object *object = &profile->object[o];
        struct hm_symbols symbols = {.n = 0};
        if (hm_profile_is_there(object))
            hm_symbols_read(object->path, &symbols);
        for (size_t i = 0; i < profile->n_sites && symbols.n > 0; i++)
            for (int f = 0; f < profile->site[i].n_frames && status == 0; f++)
                if (profile->site[i].frame[f].object == (int)o)
                    status = add_function(object, &symbols, profile->site[i].frame[f].offset);
        hm_symbols_free(&symbols);
    }
    return status;
}
