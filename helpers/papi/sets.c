/* SPDX-License-Identifier: Apache-2.0 */
#include "sets.h"

#include <errno.h>
#include <papi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "zones.h"

#define MOST_COLUMNS (2 * HM_PAPI_MOST_EVENTS) /* a zone has two columns: its range, then its energy */
#define MOST_STARTS 20                         /* most starts of powercap's event set for one reading */
#define BETWEEN_STARTS_NS 1000000

static long long columns[MOST_COLUMNS];

/* Have uncore events count everything that runs on a socket, the kernel included. */
static int count_all(int handle)
{
    PAPI_option_t granularity = {.granularity = {.eventset = handle, .granularity = PAPI_GRN_SYS}};
    PAPI_option_t domain = {.domain = {.eventset = handle, .domain = PAPI_DOM_ALL}};
    int result = PAPI_set_opt(PAPI_GRANUL, &granularity);
    return result == PAPI_OK ? PAPI_set_opt(PAPI_DOMAIN, &domain) : result;
}

static int make_set(const struct hm_papi_component *component, int *handle)
{
    int result = PAPI_create_eventset(handle);
    if (result == PAPI_OK)
        result = PAPI_assign_eventset_component(*handle, component->index);
    return result == PAPI_OK && strcmp(component->name, "perf_event_uncore") == 0 ? count_all(*handle) : result;
}

static int add_event(struct hm_papi_found *found, int handle, unsigned *n_columns)
{
    int result = PAPI_OK;
    if (found->range[0] && (result = PAPI_add_named_event(handle, found->range)) == PAPI_OK)
        ++*n_columns;
    found->column = (*n_columns)++;
    return result == PAPI_OK ? PAPI_add_named_event(handle, found->event.name) : result;
}

/* Read the ranges of a component's zones. */
static int read_ranges(struct hm_papi_library *library, unsigned component, int handle)
{
    uint64_t used[2];
    int result = hm_papi_zones_used_ranges(library->component[component].index, used);
    if (result != PAPI_OK || (result = PAPI_start(handle)) != PAPI_OK ||
        (result = PAPI_stop(handle, columns)) != PAPI_OK)
        return result;
    for (unsigned i = 0; i < library->n_found; i++) {
        struct hm_papi_found *found = &library->found[i];
        if (found->component != component || !found->range[0])
            continue;
        long long range = columns[found->column - 1];
        if (range <= 0)
            return PAPI_EINVAL;
        found->raw = (struct hm_papiraw){.range = (uint64_t)range, .used_range = used[found->is_in_package]};
        found->event.modulus = (uint64_t)range + 1;
    }
    return PAPI_OK;
}

static int fail_event(const char *what, int result, struct hm_error *error)
{
    const char *hint = result == PAPI_EPERM ? " (it needs root, CAP_PERFMON, or kernel.perf_event_paranoid of 0)" : "";
    return hm_fail(error, EIO, "%s: %s%s", what, PAPI_strerror(result), hint);
}

static bool has_zones(const struct hm_papi_library *library, unsigned component)
{
    for (unsigned i = 0; i < library->n_found; i++)
        if (library->found[i].component == component && library->found[i].range[0])
            return true;
    return false;
}

/* Open the event set of one component. Returns 0, or -1 with a text that names the event, or the component where the
 * set as a whole failed. */
static int open_set(struct hm_papi_sets *sets, struct hm_papi_library *library, unsigned component,
                    struct hm_error *error)
{
    const char *name = library->component[component].name;
    unsigned n_columns = 0;
    int handle = PAPI_NULL, result = make_set(&library->component[component], &handle);
    if (result != PAPI_OK)
        return fail_event(name, result, error);
    for (unsigned i = 0; i < library->n_found; i++)
        if (library->found[i].component == component &&
            (result = add_event(&library->found[i], handle, &n_columns)) != PAPI_OK)
            return fail_event(library->found[i].event.name, result, error);
    bool is_powercap = has_zones(library, component);
    result = is_powercap ? read_ranges(library, component, handle) : PAPI_start(handle);
    if (result != PAPI_OK)
        return fail_event(name, result, error);
    sets->set[sets->n].handle = handle;
    sets->set[sets->n].component = component;
    sets->set[sets->n].is_powercap = is_powercap;
    sets->set[sets->n++].is_running = !is_powercap;
    return 0;
}

static bool has_events(const struct hm_papi_library *library, unsigned component)
{
    for (unsigned i = 0; i < library->n_found; i++)
        if (library->found[i].component == component)
            return true;
    return false;
}

/* Drop those events of a component that measure the same as an event of an earlier component. */
static void forget_known(struct hm_papi_library *library, unsigned component)
{
    unsigned kept = 0, before = library->n_found;
    for (unsigned i = 0; i < before; i++) {
        const struct hm_papi_found *found = &library->found[i];
        bool is_known = false;
        for (unsigned k = 0; k < before && found->component == component; k++)
            is_known = is_known || (library->found[k].component < component &&
                                    library->found[k].event.measure == found->event.measure &&
                                    library->found[k].event.kind == found->event.kind);
        if (!is_known)
            library->found[kept++] = library->found[i];
    }
    library->n_found = kept;
    if (kept < before && !has_events(library, component))
        hm_papi_library_drop(library, component, "all that it measures is measured by a component before it");
}

int hm_papi_sets_open(struct hm_papi_sets *sets, struct hm_papi_library *library, bool all, struct hm_error *error)
{
    sets->n = 0;
    for (unsigned i = 0; i < library->n_components; i++) {
        struct hm_error why = {""};
        if (!all)
            forget_known(library, i);
        if (!has_events(library, i) || open_set(sets, library, i, &why) == 0)
            continue;
        if (all)
            return hm_fail(error, EIO, "%s", why.text);
        hm_papi_library_drop(library, i, why.text);
    }
    return 0;
}

static bool read_zones(const struct hm_papi_sets *sets, struct hm_papi_library *library, int s,
                       struct hm_papi_moment moment, uint64_t *value, bool *is_known)
{
    if (!sets->set[s].is_running || PAPI_read(sets->set[s].handle, columns) != PAPI_OK)
        return false;
    moment.now_ns = hm_clock_ns(CLOCK_MONOTONIC);
    return hm_papi_zones_take(library, sets->set[s].component, columns, &moment, value, is_known);
}

/* Read powercap's zones. Where the event set does not run or cannot be read, or a reading is ambiguous (zones.h), start
 * the set again, and read again. */
static void read_powercap(struct hm_papi_sets *sets, struct hm_papi_library *library, int s, uint64_t *value,
                          bool *is_known)
{
    const struct timespec wait = {.tv_nsec = BETWEEN_STARTS_NS};
    struct hm_papi_moment moment = {0};
    int handle = sets->set[s].handle;
    bool is_clear = read_zones(sets, library, s, moment, value, is_known);
    for (int i = 0; i < MOST_STARTS && !is_clear; i++) {
        if (i > 0)
            nanosleep(&wait, NULL);
        if (sets->set[s].is_running)
            PAPI_stop(handle, NULL);
        moment = (struct hm_papi_moment){.is_start = true, .started_ns = hm_clock_ns(CLOCK_MONOTONIC)};
        sets->set[s].is_running = PAPI_start(handle) == PAPI_OK;
        is_clear = read_zones(sets, library, s, moment, value, is_known);
    }
}

static void read_plain(const struct hm_papi_sets *sets, const struct hm_papi_library *library, int s, uint64_t *value,
                       bool *is_known)
{
    bool is_read = PAPI_read(sets->set[s].handle, columns) == PAPI_OK;
    for (unsigned i = 0; i < library->n_found; i++) {
        if (library->found[i].component != sets->set[s].component)
            continue;
        is_known[i] = is_read && columns[library->found[i].column] >= 0;
        value[i] = is_known[i] ? (uint64_t)columns[library->found[i].column] : 0;
    }
}

void hm_papi_sets_read(struct hm_papi_sets *sets, struct hm_papi_library *library, uint64_t *value, bool *is_known)
{
    memset(is_known, 0, HM_PAPI_MOST_EVENTS * sizeof(*is_known));
    for (int s = 0; s < sets->n; s++) {
        if (sets->set[s].is_powercap)
            read_powercap(sets, library, s, value, is_known);
        else
            read_plain(sets, library, s, value, is_known);
    }
}
