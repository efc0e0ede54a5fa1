/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the reader of profiles by allocation site: any text, or a valid profile with changes. A profile that is
 * accepted is written as JSON without negative figures, which is accepted again and has the same sites, can be merged
 * with itself, does not differ from itself, and each site is told in printable characters.
 */
#include <math.h>
#include <stdlib.h>

#include "jsonline.h"
#include "patch.h"
#include "sites/commands/commands.h"
#include "sites/commands/compare.h"
#include "sites/profile/merge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char valid[] =
    "{\"schema\":1,\"program\":{\"command\":\"a\",\"path\":\"/a\",\"build_id\":\"0a\",\"input_class\":null},\"start\":"
    "\"2026-11-28T08:00:00Z\",\"elapsed_s\":1.5,\"exit_code\":0,\"least_bytes\":4096,\"processes\":1,\"peak_bytes\":"
    "12,\"resident_peak_bytes\":9,\"left_out\":0,\"sampling\":{\"source\":\"clock\",\"why\":null,\"unit\":7,"
    "\"samples\":9.0,\"elsewhere\":1.0,"
    "\"saturated\":1,\"lost\":0},\"objects\":[{\"build_id\":\"0a\",\"path\":\"/"
    "a\",\"functions\":[{\"name\":\"f\",\"offset\":0,\"bytes\":9}]},{\"build_id\":null,\"path\":\"b.so\"}],\"sites\":[{"
    "\"id\":\"00000000000000a1\",\"frames\":[{\"object\":0,\"offset\":1},{\"object\":null,\"offset\":0},{\"object\":1,"
    "\"offset\":77}],\"class_bytes\":null,\"allocations\":1,\"peak_bytes\":8,\"mean_bytes\":2.5,\"series\":[8,8,8,8,"
    "8,8,8,8,8,8,8,8,8,8,8,8,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],\"alive\":{\"from\":0.0,\"to\":0.49},\"resident\":{"
    "\"peak_bytes\":5,\"mean_bytes\":2.5,"
    "\"series\":[5,4,4,4,4,4,4,4,4,4,4,4,4,4,4,4,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],\"slices\":[0,7,31]},\"slices\":{"
    "\"step_bytes\":3,\"extent_bytes\":8,"
    "\"accesses\":[1.0,5.0,2.0],\"samples\":7.0},\"lifetime_s\":0.5,"
    "\"accesses\":8.0,\"reads\":6.0,\"writes\":2.0,\"samples\":8.0,\"confidence\":null},{\"id\":\"00000000000000a2\","
    "\"frames\":[],\"class_bytes\":64,\"allocations\":9,\"peak_bytes\":4,\"mean_bytes\":1.0,\"lifetime_s\":null,"
    "\"accesses\":null,\"reads\":null,\"writes\":null,\"samples\":null,\"confidence\":null}]}";

/* The slices have all of a site's bytes, and all of its accesses. */
static void check_slices(const struct hm_profile_site *site)
{
    double share[HM_SLICES], bytes = 0, accesses = 0;
    int n = hm_slices_count(&site->slices);
    hm_slices_expect(&site->slices, share);
    for (int i = 0; i < n; i++) {
        if (!(share[i] >= 0))
            abort();
        bytes += hm_slices_bytes(&site->slices, i);
        accesses += share[i];
    }
    if (n > HM_SLICES || (n > 0 && !(fabs(bytes - 1) < 1e-6 && fabs(accesses - 1) < 1e-6)))
        abort();
}

static void check_sites(const struct hm_profile *profile, const struct hm_profile *again)
{
    char where[64];
    if (again->n_sites != profile->n_sites || again->n_objects != profile->n_objects)
        abort();
    for (size_t i = 0; i < profile->n_sites; i++) {
        const struct hm_profile_site *site = &profile->site[i];
        struct hm_profile_bounds bounds = hm_profile_confidence(profile, hm_profile_all_accesses(profile), site);
        check_slices(site);
        if (hm_slices_count(&again->site[i].slices) != hm_slices_count(&site->slices))
            abort();
        if (!isnan(bounds.low) && !(bounds.low >= 0 && bounds.low <= bounds.high && bounds.high <= 1))
            abort();
        if (again->site[i].id != site->id || again->site[i].peak_bytes != site->peak_bytes ||
            again->site[i].n_frames != site->n_frames)
            abort();
        if (again->site[i].has_series != site->has_series ||
            memcmp(again->site[i].series, site->series, sizeof(site->series)) != 0)
            abort();
        if (site->alive.from != again->site[i].alive.from || site->alive.to != again->site[i].alive.to ||
            !(site->alive.from >= 0 && site->alive.to <= 1) || (site->alive.to > 0 && !site->has_series))
            abort();
        if (memcmp(&again->site[i].resident, &site->resident, sizeof(site->resident)) != 0)
            abort();
        for (int part = 0; part < HM_PROFILE_PARTS; part++)
            if (site->series[part] > site->peak_bytes || site->resident.series[part] > site->peak_bytes ||
                hm_profile_room(site, site->peak_bytes) > site->peak_bytes)
                abort();
        hm_sites_where(profile, NULL, site, where, sizeof(where));
        for (const char *byte = where; *byte; byte++)
            if (*byte < 0x20 || *byte > 0x7e)
                abort();
    }
}

/* A profile does not differ from itself. */
static void check_changes(const struct hm_profile *profile, const struct hm_profile *again)
{
    const struct hm_sites_names none = {0, NULL};
    const struct hm_sites_side old = {profile, &none}, new = {again, &none};
    struct hm_sites_changes changes;
    if (hm_sites_compare(&old, &new, &changes) < 0 || changes.n != profile->n_sites)
        abort();
    for (size_t i = 0; i < changes.n; i++)
        if (!changes.pair[i].old || !changes.pair[i].new || changes.pair[i].has_other_peak ||
            changes.pair[i].has_other_share)
            abort();
    free(changes.pair);
}

static void check(const char *text, size_t length)
{
    struct hm_profile *profile = hm_profile_parse("fuzz", text, length, NULL);
    if (!profile)
        return;
    json_t *json = hm_profile_json(profile);
    if (!json || has_negative(json))
        abort();
    char *written = json_dumps(json, 0);
    struct hm_profile *again = hm_profile_parse("fuzz", written, strlen(written), NULL);
    if (!again)
        abort();
    check_sites(profile, again);
    check_changes(profile, again);
    if (hm_profile_merge(again, profile, "fuzz", NULL) == 0) {
        json_t *merged = hm_profile_json(again);
        if (!merged || has_negative(merged) || again->n_sites != profile->n_sites)
            abort();
        json_decref(merged);
    }
    hm_profile_free(again);
    free(written);
    json_decref(json);
    hm_profile_free(profile);
}

/* The profile becomes one of counted bytes, whose bounds are given. */
static void become_counted(char *text)
{
    static const char source[] = "\"clock\"", other[] = "\"mbi\"  ";
    static const char samples[] = "\"samples\":8.0,\"confidence\":null",
                      bounds[] = "\"samples\":8,\"confidence\":{\"low\":0.5,\"high\":1}";
    char *at = strstr(text, source);
    memcpy(at, other, sizeof(other) - 1);
    at = strstr(text, samples);
    memmove(at + sizeof(bounds) - 1, at + sizeof(samples) - 1, strlen(at + sizeof(samples) - 1) + 1);
    memcpy(at, bounds, sizeof(bounds) - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char changed[sizeof(valid) + 32];
    if (size == 0 || data[0] % 2 == 0) {
        check((const char *)data, size);
        return 0;
    }
    memcpy(changed, valid, sizeof(valid));
    if (data[0] % 4 == 3)
        become_counted(changed);
    size_t length = strlen(changed);
    patch(changed, length, data + 1, size - 1);
    check(changed, length);
    return 0;
}
