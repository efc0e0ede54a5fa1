/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the state of the node for people, or as JSON. */
#include <jansson.h>
#include <stdio.h>

#include "base/size.h"
#include "parts.h"

#define COLUMN 12

/* Could Slurm have the node take this mode now? `why` gets the reason where it could not. */
static bool could_be(const struct hm_memmode_state *state, enum hm_memmode mode, struct hm_error *why)
{
    struct hm_memmode_steps steps;
    return hm_memmode_decide(state, mode, false, &steps, why) == 0;
}

static const char *size_of(uint64_t bytes, char text[24])
{
    return hm_size_format(bytes, text, 24);
}

static void print_modules(const struct hm_memmode_state *state)
{
    const struct hm_memmode_resources *resources = &state->resources;
    char size[5][24];
    printf("%-*s%u, %s: %s memory, %s App Direct, %s inaccessible\n", COLUMN, "modules", state->modules.n,
           size_of(resources->physical, size[0]), size_of(resources->memory, size[1]),
           size_of(resources->app_direct, size[2]), size_of(resources->inaccessible, size[3]));
    printf("%-*s%s of DRAM\n", COLUMN, "cache", size_of(resources->dram_cache, size[4]));
}

static void print_bios(const struct hm_memmode_bios *bios)
{
    printf("%-*s%s of the BIOS: now \"%s\", at the next boot \"%s\"\n", COLUMN, "attribute", bios->attribute,
           bios->value, bios->next);
}

static void print_text(const struct hm_memmode_state *state)
{
    enum hm_memmode pending = hm_memmode_pending(state);
    printf("%-*s%s\n", COLUMN, "mode", hm_memmode_word(hm_memmode_now(state)));
    printf("%-*s%s%s\n", COLUMN, "pending", hm_memmode_word(pending),
           pending == HM_MEMMODE_NONE ? "" : ", from the next boot on");
    if (state->by == HM_MEMMODE_BY_BIOS)
        print_bios(&state->bios);
    else
        print_modules(state);
    printf("%-*s%u kept by users, %u of jobs, %u not hybridmem's\n", COLUMN, "namespaces", state->spaces.n_kept,
           state->spaces.n_jobs, state->spaces.n_others);
    for (enum hm_memmode mode = HM_MEMMODE_FLAT; mode <= HM_MEMMODE_MIXED; mode++) {
        struct hm_error why = {{0}};
        bool could = could_be(state, mode, &why);
        printf("%-*s%s: %s\n", COLUMN, mode == HM_MEMMODE_FLAT ? "could be" : "", hm_memmode_word(mode),
               could ? "yes" : why.text);
    }
}

/* Null where the node could take the mode, else the reason why not. */
static json_t *reason(const struct hm_memmode_state *state, enum hm_memmode mode)
{
    struct hm_error why = {{0}};
    return could_be(state, mode, &why) ? json_null() : json_string(why.text);
}

static json_t *pending_json(const struct hm_memmode_state *state)
{
    enum hm_memmode pending = hm_memmode_pending(state);
    return pending == HM_MEMMODE_NONE ? json_null() : json_string(hm_memmode_word(pending));
}

/* Of a node that the BIOS switches nothing is told of modules, and of the others nothing of an attribute. */
static json_t *modules_json(const struct hm_memmode_state *state)
{
    return state->by == HM_MEMMODE_BY_BIOS ? json_null() : json_integer(state->modules.n);
}

static json_t *bytes_json(const struct hm_memmode_state *state)
{
    const struct hm_memmode_resources *resources = &state->resources;
    if (state->by == HM_MEMMODE_BY_BIOS)
        return json_null();
    return json_pack("{s:I, s:I, s:I, s:I, s:I}", "physical", (json_int_t)resources->physical, "memory",
                     (json_int_t)resources->memory, "app_direct", (json_int_t)resources->app_direct, "inaccessible",
                     (json_int_t)resources->inaccessible, "dram_cache", (json_int_t)resources->dram_cache);
}

static json_t *attribute_json(const struct hm_memmode_state *state)
{
    const struct hm_memmode_bios *bios = &state->bios;
    if (state->by != HM_MEMMODE_BY_BIOS)
        return json_null();
    return json_pack("{s:s, s:s, s:s}", "name", bios->attribute, "value", bios->value, "next", bios->next);
}

static int print_json(const struct hm_memmode_state *state)
{
    json_t *all = json_pack("{s:s, s:o, s:o, s:o, s:o, s:{s:i, s:i, s:i}, s:{s:o, s:o, s:o}}", "mode",
                            hm_memmode_word(hm_memmode_now(state)), "pending", pending_json(state), "modules",
                            modules_json(state), "bytes", bytes_json(state), "attribute", attribute_json(state),
                            "namespaces", "kept", (int)state->spaces.n_kept, "jobs", (int)state->spaces.n_jobs,
                            "others", (int)state->spaces.n_others, "prevents", "flat", reason(state, HM_MEMMODE_FLAT),
                            "cache", reason(state, HM_MEMMODE_CACHE), "mixed", reason(state, HM_MEMMODE_MIXED));
    int result = all && json_dumpf(all, stdout, JSON_INDENT(2)) == 0 && putchar('\n') != EOF ? 0 : -1;
    json_decref(all);
    return result;
}

int hm_memmode_print(const struct hm_memmode_state *state, bool as_json)
{
    if (as_json)
        return print_json(state);
    print_text(state);
    return 0;
}
