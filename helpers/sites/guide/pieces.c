/* SPDX-License-Identifier: Apache-2.0 */
#include "pieces.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/hybridmem.h"
#include "base/amount.h"
#include "choose.h"

#define WHOLE (-1)
#define LEAST_BLOCKS 4
/* A site that has less than this part of the tier is whole: little is lost by that. */
#define LEAST_PART 32

_Static_assert(HM_PACK_PARTS == HM_PROFILE_PARTS, "packers know the parts of a profile");

/* How a site is packed. */
enum packed {
    AS_WHOLE,   /* also with what is never touched: so the guide has it that is not told of slices */
    AS_TOUCHED, /* the slices that are touched, together */
    DIVIDED,    /* each of these by itself */
};

struct piece {
    size_t site;
    enum packed packed;
    int slice;    /* or WHOLE */
    double share; /* of what the site is worth */
    uint64_t series[HM_PACK_PARTS];
};

struct pieces {
    size_t n;
    struct piece *piece;
    struct hm_pack_item *item;
    const uint64_t **series; /* by piece, for the scene, as are its spans */
    struct hm_pack_span *span;
    bool *is_limitable, *is_fast;
    enum packed *packed; /* by site */
};

/* An allocation in a slice of an order is in one tier, so a slice has to have many. */
static bool has_slices(const struct hm_profile *profile, const struct hm_profile_site *site)
{
    double block = hm_guide_block_bytes(profile, site), step = (double)site->slices.step_bytes;
    return hm_slices_count(&site->slices) > 1 && (block >= HM_ALLOC_LEAST ? step == 0 : block * LEAST_BLOCKS <= step);
}

static bool can_divide(const struct hm_guide_packing *packing, size_t at)
{
    const struct hm_profile_site *site = &packing->profile->site[at];
    return packing->packer->may_divide && packing->value[at] > 0 && site->class_bytes == 0 &&
           hm_profile_room(site, site->peak_bytes) > packing->scene.capacity / LEAST_PART &&
           has_slices(packing->profile, site);
}

/* Can what is never touched of a site be left out? By the size of its allocations, the guide has to have slices of
 * these. */
static bool can_leave_out(const struct hm_guide_packing *packing, size_t at)
{
    const struct hm_profile_site *site = &packing->profile->site[at];
    return packing->value[at] > 0 && hm_profile_touched(site) != HM_SLICES_ALL && site->slices.step_bytes == 0 &&
           hm_guide_block_bytes(packing->profile, site) >= HM_ALLOC_LEAST;
}

static void close_pieces(struct pieces *pieces)
{
    free(pieces->piece);
    free(pieces->item);
    free(pieces->series);
    free(pieces->span);
    free(pieces->is_limitable);
    free(pieces->is_fast);
    free(pieces->packed);
}

/* Returns 0, or -1. To be closed in both cases. */
static int open_pieces(struct pieces *pieces, size_t n_sites)
{
    size_t most = n_sites + (size_t)HM_GUIDE_PARTS * HM_SLICES;
    *pieces = (struct pieces){.piece = calloc(most, sizeof(*pieces->piece)),
                              .item = calloc(most, sizeof(*pieces->item)),
                              .series = calloc(most, sizeof(*pieces->series)),
                              .span = calloc(most, sizeof(*pieces->span)),
                              .is_limitable = calloc(most, sizeof(*pieces->is_limitable)),
                              .is_fast = calloc(most, sizeof(*pieces->is_fast)),
                              .packed = calloc(n_sites + 1, sizeof(*pieces->packed))};
    return pieces->piece && pieces->item && pieces->series && pieces->span && pieces->is_limitable && pieces->is_fast &&
                   pieces->packed
               ? 0
               : -1;
}

/* The bytes of a slice where the site has `bytes`: of each allocation as much, or those that come first. */
static uint64_t slice_bytes(const struct hm_profile_site *site, int slice, uint64_t bytes)
{
    double peak = (double)site->peak_bytes, size = peak * hm_slices_bytes(&site->slices, slice);
    if (site->slices.step_bytes == 0)
        return (uint64_t)ceil((double)bytes / HM_SLICES);
    double before = peak * slice * hm_slices_bytes(&site->slices, 0); /* only the last slice may be smaller */
    return (uint64_t)ceil(fmin(fmax((double)bytes - before, 0), size));
}

/* What an allocation of the site's mean size takes of an arena, of its size: jemalloc has four sizes for each power of
 * two. */
static double arena_factor(const struct hm_profile *profile, const struct hm_profile_site *site)
{
    double block = hm_guide_block_bytes(profile, site);
    if (site->class_bytes > 0 || !(block >= 1) || block >= HM_ALLOC_LEAST)
        return 1;
    double step = fmax(16, exp2(floor(log2(fmax(block - 1, 1))) - 2));
    return ceil(block / step) * step / block;
}

static uint64_t bytes_of(const struct piece *piece, const struct hm_profile_site *site, double factor, uint64_t bytes)
{
    uint64_t of_it = piece->packed == AS_TOUCHED ? hm_profile_room(site, bytes) : bytes;
    if (piece->slice != WHOLE)
        of_it = slice_bytes(site, piece->slice, bytes);
    return hm_least((uint64_t)ceil((double)of_it * factor), HM_PACK_MOST);
}

static void add(struct pieces *pieces, const struct hm_guide_packing *packing, struct piece piece)
{
    const struct hm_profile_site *site = &packing->profile->site[piece.site];
    size_t at = pieces->n++;
    pieces->piece[at] = piece;
    pieces->series[at] = site->has_series ? pieces->piece[at].series : NULL;
    pieces->span[at] = (struct hm_pack_span){site->alive.from, site->alive.to};
    pieces->is_limitable[at] = piece.packed == AS_WHOLE && hm_guide_can_limit(site);
}

/* The guide is told of slices of so many sites: of those that are worth most. Returns 0, or -1. */
static int choose_packed(struct pieces *pieces, const struct hm_guide_packing *packing)
{
    size_t n = 0, *order = hm_pack_order(packing->value, packing->profile->n_sites, &n);
    int n_told = 0;
    for (size_t i = 0; order && i < n && n_told < HM_GUIDE_PARTS; i++) {
        bool is_divided = can_divide(packing, order[i]), is_touched = can_leave_out(packing, order[i]);
        pieces->packed[order[i]] = is_divided ? DIVIDED : is_touched ? AS_TOUCHED : AS_WHOLE;
        n_told += is_divided || is_touched;
    }
    free(order);
    return order ? 0 : -1;
}

/* No access is to a slice that is not touched. */
static void divide(struct pieces *pieces, const struct hm_guide_packing *packing, size_t at)
{
    const struct hm_profile_site *site = &packing->profile->site[at];
    double share[HM_SLICES], sum = 0;
    uint32_t touched = site->slices.step_bytes == 0 ? hm_profile_touched(site) : HM_SLICES_ALL;
    hm_slices_expect(&site->slices, share);
    for (int slice = 0; slice < hm_slices_count(&site->slices); slice++)
        sum += touched >> slice & 1 ? share[slice] : 0;
    for (int slice = 0; slice < hm_slices_count(&site->slices); slice++)
        if (touched >> slice & 1)
            add(pieces, packing,
                (struct piece){.site = at, .packed = DIVIDED, .slice = slice, .share = share[slice] / sum});
}

static void cut(struct pieces *pieces, const struct hm_guide_packing *packing)
{
    for (size_t i = 0; i < packing->profile->n_sites; i++) {
        if (pieces->packed[i] == DIVIDED)
            divide(pieces, packing, i);
        else
            add(pieces, packing, (struct piece){.site = i, .packed = pieces->packed[i], .slice = WHOLE, .share = 1});
    }
}

/* Sets what the pieces are worth, and their bytes: those of the profile, or those that they take where they are placed.
 */
static void set_items(struct pieces *pieces, const struct hm_guide_packing *packing, const double *value,
                      bool is_placed)
{
    for (size_t i = 0; i < pieces->n; i++) {
        struct piece *piece = &pieces->piece[i];
        const struct hm_profile_site *site = &packing->profile->site[piece->site];
        double factor = is_placed ? arena_factor(packing->profile, site) : 1;
        pieces->item[i].value = value[piece->site] * piece->share;
        pieces->item[i].bytes = bytes_of(piece, site, factor, site->peak_bytes);
        for (int part = 0; part < HM_PACK_PARTS; part++)
            piece->series[part] = bytes_of(piece, site, factor, site->series[part]);
    }
}

/* What was chosen of pieces, by site. */
static void gather(const struct pieces *pieces, const struct hm_profile *profile, struct hm_pack_result *result,
                   uint32_t *slices)
{
    memset(result->is_fast, 0, profile->n_sites * sizeof(*result->is_fast));
    memset(slices, 0, profile->n_sites * sizeof(*slices));
    for (size_t i = 0; i < pieces->n; i++) {
        const struct piece *piece = &pieces->piece[i];
        if (pieces->is_fast[i]) {
            result->is_fast[piece->site] = true;
            slices[piece->site] |= piece->packed == AS_WHOLE     ? HM_SLICES_ALL
                                   : piece->packed == AS_TOUCHED ? hm_profile_touched(&profile->site[piece->site])
                                                                 : UINT32_C(1) << piece->slice;
        }
    }
    for (size_t i = 0; i < profile->n_sites; i++) {
        int n = hm_slices_count(&profile->site[i].slices);
        if (n > 0 && n < HM_SLICES && slices[i] == (UINT32_C(1) << n) - 1)
            slices[i] = HM_SLICES_ALL;
    }
    result->limited = pieces->piece[result->limited].site;
}

static int pack(struct pieces *pieces, const struct hm_guide_packing *packing, struct hm_pack_result *result)
{
    struct hm_pack_scene scene = packing->scene;
    scene.series = pieces->series;
    scene.span = pieces->span;
    scene.is_limitable = pieces->is_limitable;
    set_items(pieces, packing, packing->value, packing->packer->may_divide);
    if (hm_pack_into(packing->packer, &scene, pieces->item, pieces->n, result) < 0)
        return -1;
    struct hm_pack_result of_profile = *result;
    set_items(pieces, packing, packing->accesses, true);
    int status = hm_pack_measure(&scene, pieces->item, pieces->n, result);
    set_items(pieces, packing, packing->accesses, false);
    if (status == 0)
        status = hm_pack_measure(&scene, pieces->item, pieces->n, &of_profile);
    result->bytes = of_profile.bytes;
    return status;
}

int hm_guide_pack(const struct hm_guide_packing *packing, struct hm_pack_result *result, uint32_t *slices)
{
    struct pieces pieces;
    bool *is_fast = result->is_fast;
    int status = open_pieces(&pieces, packing->profile->n_sites);
    if (status == 0)
        status = choose_packed(&pieces, packing);
    if (status == 0) {
        cut(&pieces, packing);
        result->is_fast = pieces.is_fast;
        status = pack(&pieces, packing, result);
        result->is_fast = is_fast;
    }
    if (status == 0)
        gather(&pieces, packing->profile, result, slices);
    close_pieces(&pieces);
    errno = status == 0 ? errno : ENOMEM;
    return status;
}

uint64_t hm_guide_slices_bytes(const struct hm_profile_site *site, uint32_t slices)
{
    uint64_t bytes = 0;
    if (slices == HM_SLICES_ALL || (slices == hm_profile_touched(site) && site->slices.step_bytes == 0))
        return slices == HM_SLICES_ALL ? site->peak_bytes : hm_profile_room(site, site->peak_bytes);
    for (int i = 0; i < hm_slices_count(&site->slices); i++)
        if (slices >> i & 1)
            bytes += slice_bytes(site, i, site->peak_bytes);
    return hm_least(bytes, site->peak_bytes);
}
