/* SPDX-License-Identifier: Apache-2.0 */
#include "library.h"

#include <errno.h>
#include <fcntl.h>
#include <papi.h>
#include <stdio.h>
#include <string.h>

#include "cpus.h"
#include "meter/sources/processor.h"
#include "zones.h"

bool hm_papi_is_wanted(const char *component)
{
    const struct hm_papi_row *row;
    for (int i = 0; (row = hm_papi_row_at(i)); i++)
        if (strcmp(row->component, component) == 0)
            return true;
    return false;
}

/* Add a component. Returns it, or NULL where there is no room. */
static struct hm_papi_component *add_component(struct hm_papi_library *library, const char *name, int index)
{
    if (library->n_components == HM_PAPI_MOST_COMPONENTS)
        return NULL;
    struct hm_papi_component *component = &library->component[library->n_components++];
    *component = (struct hm_papi_component){.index = index};
    snprintf(component->name, sizeof(component->name), "%s", name);
    return component;
}

/* Keep a text of PAPI's as one printable line: some of its texts come from drivers and system calls. */
static void keep_reason(struct hm_papi_component *component, const char *text)
{
    size_t n = 0;
    for (; text[n] && n < sizeof(component->reason) - 1; n++)
        component->reason[n] = (unsigned char)text[n] < 0x20 || text[n] == 0x7f ? ' ' : text[n];
    component->reason[n] = '\0';
}

static bool has_component(const struct hm_papi_library *library, const char *name)
{
    for (unsigned i = 0; i < library->n_components; i++)
        if (strcmp(library->component[i].name, name) == 0)
            return true;
    return false;
}

/* Look at one component of PAPI's and add it. `index` is negative where this PAPI was built without it. */
static void look_at_component(struct hm_papi_library *library, const char *name, int index)
{
    const PAPI_component_info_t *info = index >= 0 ? PAPI_get_component_info(index) : NULL;
    struct hm_papi_component *component = has_component(library, name) ? NULL : add_component(library, name, index);
    int code = PAPI_NATIVE_MASK;
    if (!component)
        return;
    /* PAPI starts some components only when their events are first asked for. Ask now, to know whether they work. */
    if (info && hm_papi_is_wanted(name))
        (void)PAPI_enum_cmp_event(&code, PAPI_ENUM_FIRST, index);
    component->is_in = info && info->disabled == 0;
    if (!info)
        keep_reason(component, "this PAPI was built without it");
    else if (!component->is_in)
        keep_reason(component, info->disabled_reason[0] ? info->disabled_reason : PAPI_strerror(info->disabled));
}

int hm_papi_library_open(struct hm_papi_library *library, struct hm_error *error)
{
    const struct hm_papi_row *row;
    int version = PAPI_library_init(PAPI_VER_CURRENT);
    *library = (struct hm_papi_library){.sysfs = open("/sys", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (version != PAPI_VER_CURRENT)
        return hm_fail(error, ENOSYS, "PAPI does not start: %s",
                       version > 0 ? "it is another version than hybridmem-papi was built with"
                                   : PAPI_strerror(version));
    snprintf(library->version, sizeof(library->version), "%d.%d.%d", PAPI_VERSION_MAJOR(version),
             PAPI_VERSION_MINOR(version), PAPI_VERSION_REVISION(version));
    for (int i = 0; (row = hm_papi_row_at(i)); i++)
        look_at_component(library, row->component, PAPI_get_component_index(row->component));
    for (int i = 0; i < PAPI_num_components(); i++) {
        const PAPI_component_info_t *info = PAPI_get_component_info(i);
        if (info)
            look_at_component(library, info->name, i);
    }
    return 0;
}

/* Add an event. Returns it, or NULL where there is no room, or the name is too long. */
static struct hm_papi_found *add_found(struct hm_papi_library *library, unsigned component, const char *name)
{
    if (library->n_found == HM_PAPI_MOST_EVENTS || strlen(name) >= HM_PAPI_NAME)
        return NULL;
    struct hm_papi_found *found = &library->found[library->n_found++];
    *found = (struct hm_papi_found){.component = component, .event.measure = HM_PAPI_COUNT};
    found->event.unit = HM_PAPI_ONE;
    found->event.socket = -1;
    memcpy(found->event.name, name, strlen(name) + 1);
    return found;
}

static struct hm_papi_found *add_row(struct hm_papi_library *library, unsigned component, const struct hm_papi_row *row,
                                     const char *name, struct hm_error *error)
{
    struct hm_papi_found *found = add_found(library, component, name);
    if (!found) {
        hm_fail(error, E2BIG, "%.64s: more than %d events, or its name is too long", name, HM_PAPI_MOST_EVENTS);
        return NULL;
    }
    found->event.measure = row->measure;
    found->event.kind = row->kind;
    found->event.unit = row->unit;
    return found;
}

/* Add a counter that each socket has: one event for each socket. Returns 0, or -1 with a text. */
static int add_per_cpu(struct hm_papi_library *library, unsigned component, const struct hm_papi_row *row,
                       const char *name, struct hm_error *error)
{
    struct hm_set cpus;
    char on_cpu[2 * HM_PAPI_NAME];
    if (hm_papi_cpus(library->sysfs, row->pmu, &cpus, error) != 0)
        return -1;
    for (int cpu = hm_set_next(&cpus, 0); cpu >= 0; cpu = hm_set_next(&cpus, (unsigned)cpu + 1)) {
        snprintf(on_cpu, sizeof(on_cpu), "%.128s%s:cpu=%d", name, row->mask, cpu);
        struct hm_papi_found *found = add_row(library, component, row, on_cpu, error);
        if (!found)
            return -1;
        found->event.socket = hm_processor_socket_of(library->sysfs, cpu);
    }
    return 0;
}

/* Add an event that is not counted on a CPU of each socket. Its own name or its zone's name tells the socket, which is
 * -1 where neither does. A zone that hybridmem does not use is left out, which is no error. Returns 0, or -1 with a
 * text. */
static int add_named(struct hm_papi_library *library, unsigned component, const struct hm_papi_row *row,
                     const char *name, struct hm_error *error)
{
    struct hm_papi_found *found = add_row(library, component, row, name, error);
    if (!found)
        return -1;
    found->event.socket = hm_papi_number_in(name, "_ENERGY:PACKAGE");
    if (row->is_zone && !hm_papi_zone_describe(found))
        library->n_found--;
    return 0;
}

static int find_events(struct hm_papi_library *library, unsigned component, struct hm_error *error)
{
    static PAPI_event_info_t info; /* tens of KiB */
    const struct hm_papi_component *of = &library->component[component];
    int code = PAPI_NATIVE_MASK, result = PAPI_enum_cmp_event(&code, PAPI_ENUM_FIRST, of->index);
    for (; result == PAPI_OK; result = PAPI_enum_cmp_event(&code, PAPI_ENUM_EVENTS, of->index)) {
        const struct hm_papi_row *row;
        if (PAPI_get_event_info(code, &info) != PAPI_OK)
            continue;
        for (int i = 0; (row = hm_papi_row_find(&i, of->name, info.symbol)); i++)
            if ((row->pmu ? add_per_cpu : add_named)(library, component, row, info.symbol, error) != 0)
                return -1;
    }
    return 0;
}

/* Does the event number `i` read a register that an event of its component before it reads (hm_counter_is_twin)? */
static bool is_twin(const struct hm_papi_library *library, unsigned i)
{
    const struct hm_papi_found *found = library->found;
    for (unsigned k = 0; k < i && found[i].event.measure == HM_PAPI_PACKAGE_ENERGY && found[i].event.socket >= 0; k++)
        if (found[k].component == found[i].component && found[k].event.measure == found[i].event.measure &&
            found[k].event.socket == found[i].event.socket)
            return hm_processor_is_amd(library->sysfs);
    return false;
}

/* Forget the twins among the events from number `first` on. */
static void forget_twins(struct hm_papi_library *library, unsigned first)
{
    unsigned kept = first;
    for (unsigned i = first; i < library->n_found; i++)
        if (!is_twin(library, i))
            library->found[kept++] = library->found[i];
    library->n_found = kept;
}

void hm_papi_library_find(struct hm_papi_library *library)
{
    for (unsigned i = 0; i < library->n_components; i++) {
        struct hm_error error = {""};
        unsigned before = library->n_found;
        if (!library->component[i].is_in || !hm_papi_is_wanted(library->component[i].name))
            continue;
        if (find_events(library, i, &error) != 0)
            hm_papi_library_drop(library, i, error.text);
        else if (library->n_found == before)
            hm_papi_library_drop(library, i, "it has no event of energy or traffic on this machine");
        else
            forget_twins(library, before);
    }
}

int hm_papi_library_add(struct hm_papi_library *library, const char *name, struct hm_error *error)
{
    int code, result = strlen(name) < HM_PAPI_NAME ? PAPI_event_name_to_code(name, &code) : PAPI_ENOEVNT;
    if (result != PAPI_OK)
        return hm_fail(error, ENOENT, "PAPI has no event \"%.128s\" here: %s", name, PAPI_strerror(result));
    int index = PAPI_get_event_component(code), row = 0;
    for (unsigned i = 0; i < library->n_components; i++) {
        if (library->component[i].index != index)
            continue;
        /* An event that matches a row is read as the row says, unless the row appends a mask and a CPU to PAPI's name
         * (it has a pmu): then the event is a plain count. */
        const struct hm_papi_row *known = hm_papi_row_find(&row, library->component[i].name, name);
        unsigned before = library->n_found;
        if (known && !known->pmu && add_named(library, i, known, name, error) != 0)
            return -1;
        if (library->n_found > before || (!(known && known->is_zone) && add_found(library, i, name)))
            return 0;
    }
    return hm_fail(error, ENOENT, "\"%s\" is a zone that hybridmem does not read, or one event too many (most: %d)",
                   name, HM_PAPI_MOST_EVENTS);
}

void hm_papi_library_drop(struct hm_papi_library *library, unsigned component, const char *reason)
{
    struct hm_papi_component *dropped = &library->component[component];
    unsigned kept = 0;
    dropped->is_in = false;
    keep_reason(dropped, reason);
    for (unsigned i = 0; i < library->n_found; i++)
        if (library->found[i].component != component)
            library->found[kept++] = library->found[i];
    library->n_found = kept;
}
