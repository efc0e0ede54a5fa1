/* SPDX-License-Identifier: Apache-2.0 */
#include "merge.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/search.h"

static bool is_same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Sums that stay within what a profile may have. */
static uint64_t add(uint64_t a, uint64_t b)
{
    return hm_least(a + b, (uint64_t)HM_PROFILE_MOST);
}

static double add_real(double a, double b)
{
    double sum = a + b; /* NaN where one side was not measured */
    return sum > (double)HM_PROFILE_MOST ? (double)HM_PROFILE_MOST : sum;
}

/* The same, where a profile without samples adds nothing. */
static double add_sampled(double a, double b, bool is_partly)
{
    if (is_partly && (isnan(a) || isnan(b)))
        return isnan(a) ? b : a;
    return add_real(a, b);
}

/* Has one of them no samples at all, as of a task for which there was no source? Then the accesses are the other's,
 * unless they were counted, with bounds by repeated runs. */
static bool is_partly_sampled(const struct hm_profile *a, const struct hm_profile *b)
{
    return !a->source != !b->source && !hm_profile_is_counted(a) && !hm_profile_is_counted(b);
}

static int check(const struct hm_profile *into, const struct hm_profile *from, const char *path, struct hm_error *error)
{
    if (!is_same_text(into->build_id, from->build_id))
        return hm_fail(error, EINVAL, "%s is of the build %s, and those before it of %s: use profiles of one build",
                       path, from->build_id ? from->build_id : "(none)", into->build_id ? into->build_id : "(none)");
    if (!is_partly_sampled(into, from) && (!is_same_text(into->source, from->source) || into->unit != from->unit))
        return hm_fail(error, EINVAL,
                       "%s has samples by %s, and those before it by %s, or of another unit: they cannot be summed",
                       path, from->source ? from->source : "none", into->source ? into->source : "none");
    if (into->least_bytes != from->least_bytes)
        return hm_fail(error, EINVAL, "%s was made with --least %llu, and those before it with %llu", path,
                       (unsigned long long)from->least_bytes, (unsigned long long)into->least_bytes);
    return 0;
}

static int add_functions(struct hm_profile_object *into, const struct hm_profile_object *from)
{
    int status = 0;
    for (size_t i = 0; i < from->n_functions && status == 0; i++)
        status =
            hm_profile_add_function(into, from->function[i].name, from->function[i].start, from->function[i].bytes);
    return status;
}

/* The number that an object of `from` has in `into`, where it is added if it is missing. -1: no memory, or no room. */
static int take_object(struct hm_profile *into, const struct hm_profile_object *object)
{
    for (size_t i = 0; i < into->n_objects; i++)
        if (is_same_text(into->object[i].build_id, object->build_id) &&
            (object->build_id || is_same_text(into->object[i].path, object->path)))
            return add_functions(&into->object[i], object) == 0 ? (int)i : -1;
    struct hm_profile_object *more = into->n_objects < HM_PROFILE_OBJECTS
                                         ? reallocarray(into->object, into->n_objects + 1, sizeof(*into->object))
                                         : NULL;
    if (!more)
        return -1;
    into->object = more;
    struct hm_profile_object *made = &more[into->n_objects++];
    *made = (struct hm_profile_object){.path = strdup(object->path),
                                       .build_id = object->build_id ? strdup(object->build_id) : NULL};
    bool is_whole = made->path && (made->build_id || !object->build_id) && add_functions(made, object) == 0;
    return is_whole ? (int)into->n_objects - 1 : -1;
}

/* The sites that a profile has, ascending by id. */
struct index {
    size_t n;
    struct place {
        uint64_t id;
        size_t at;
    } * place;
};

static int by_id(const void *a, const void *b)
{
    const struct place *left = a, *right = b;
    return (left->id > right->id) - (left->id < right->id);
}

/* `place` is to be freed; NULL: no memory. */
static struct index index_of(const struct hm_profile *profile)
{
    struct index index = {profile->n_sites, calloc(profile->n_sites + 1, sizeof(*index.place))};
    for (size_t i = 0; index.place && i < index.n; i++)
        index.place[i] = (struct place){profile->site[i].id, i};
    if (index.place)
        qsort(index.place, index.n, sizeof(*index.place), by_id);
    return index;
}

/* Where the site of this id is; NULL: there is none. */
static const struct place *find(const struct index *index, uint64_t id)
{
    size_t upto = HM_SEARCH_UPTO(index->place, index->n, id, id);
    return upto > 0 && index->place[upto - 1].id == id ? &index->place[upto - 1] : NULL;
}

/* A new site, which has had nothing yet. */
static struct hm_profile_site *make_site(struct hm_profile *into, const struct hm_profile_site *from, const int *number)
{
    struct hm_profile_site *more =
        into->n_sites < HM_PROFILE_SITES ? reallocarray(into->site, into->n_sites + 1, sizeof(*into->site)) : NULL;
    if (!more)
        return NULL;
    into->site = more;
    struct hm_profile_site *made = &more[into->n_sites++];
    double none = isnan(from->samples) ? NAN : 0;
    *made = *from;
    for (int i = 0; i < made->n_frames; i++)
        made->frame[i].object = from->frame[i].object < 0 ? -1 : number[from->frame[i].object];
    made->allocations = made->peak_bytes = 0;
    made->mean_bytes = 0;
    memset(made->series, 0, sizeof(made->series));
    made->resident = (struct hm_profile_resident){.is_known = from->resident.is_known, .slices = from->resident.slices};
    memset(made->slices.accesses, 0, sizeof(made->slices.accesses));
    made->slices.samples = 0;
    made->lifetime_s = NAN;
    made->samples = none;
    made->reads = made->writes = isnan(from->reads) ? NAN : 0;
    made->counted = (struct hm_profile_bounds){0, 0};
    return made;
}

/* A mean of two, by their weights; one that was not measured does not count. */
static double mean(double a, double a_weight, double b, double b_weight)
{
    if (isnan(a) || isnan(b))
        return isnan(a) ? b : a;
    return a_weight + b_weight > 0 ? (a * a_weight + b * b_weight) / (a_weight + b_weight) : 0;
}

/* The share of both together is between those of each. */
static struct hm_profile_bounds widen(struct hm_profile_bounds a, struct hm_profile_bounds b)
{
    if (isnan(a.low) || isnan(b.low))
        return (struct hm_profile_bounds){NAN, NAN};
    return (struct hm_profile_bounds){fmin(a.low, b.low), fmax(a.high, b.high)};
}

/* Of a site without accesses nothing is known of its slices, nor does it change those of another run. */
static bool tells_slices(const struct hm_profile_site *site)
{
    return site->slices.is_known || hm_profile_accesses(site) > 0;
}

static void add_slices(struct hm_profile_site *to, const struct hm_profile_site *from)
{
    if (tells_slices(from) && tells_slices(to))
        hm_slices_add(&to->slices, &from->slices);
    else if (tells_slices(from))
        to->slices = from->slices;
    for (int i = 0; i < HM_SLICES; i++)
        to->slices.accesses[i] = fmin(to->slices.accesses[i], (double)HM_PROFILE_MOST);
    to->slices.samples = fmin(to->slices.samples, (double)HM_PROFILE_MOST);
}

/* From the earliest to the latest; what one run does not know is not known of both. */
static struct hm_profile_alive join(struct hm_profile_alive a, struct hm_profile_alive b)
{
    if (!(a.from < a.to) || !(b.from < b.to))
        return (struct hm_profile_alive){0, 0};
    return (struct hm_profile_alive){fmin(a.from, b.from), fmax(a.to, b.to)};
}

/* What one run does not know is not known of both: what is allocated counts then. */
static void add_resident(struct hm_profile_resident *to, const struct hm_profile_resident *from, double before_s,
                         double more_s)
{
    if (!to->is_known || !from->is_known) {
        *to = (struct hm_profile_resident){.is_known = false};
        return;
    }
    to->peak_bytes = hm_most(to->peak_bytes, from->peak_bytes);
    to->mean_bytes = fmin(mean(to->mean_bytes, before_s, from->mean_bytes, more_s), (double)to->peak_bytes);
    for (int i = 0; i < HM_PROFILE_PARTS; i++)
        to->series[i] = hm_most(to->series[i], from->series[i]);
    to->slices = to->slices != 0 && from->slices != 0 ? to->slices | from->slices : 0;
}

static void add_site(struct hm_profile_site *to, const struct hm_profile_site *from, double before_s, double more_s,
                     bool is_partly)
{
    to->mean_bytes = mean(to->mean_bytes, before_s, from->mean_bytes, more_s);
    to->lifetime_s = mean(to->lifetime_s, (double)to->allocations, from->lifetime_s, (double)from->allocations);
    /* What fits by these fits in each of the runs, as parts are of the same share of the time. */
    to->has_series = to->has_series && from->has_series;
    for (int i = 0; i < HM_PROFILE_PARTS; i++)
        to->series[i] = to->has_series ? hm_most(to->series[i], from->series[i]) : 0;
    to->alive = to->has_series ? join(to->alive, from->alive) : (struct hm_profile_alive){0, 0};
    add_resident(&to->resident, &from->resident, before_s, more_s);
    add_slices(to, from);
    to->allocations = add(to->allocations, from->allocations);
    to->peak_bytes = hm_most(to->peak_bytes, from->peak_bytes);
    to->samples = add_sampled(to->samples, from->samples, is_partly);
    to->counted = widen(to->counted, from->counted);
    to->reads = add_sampled(to->reads, from->reads, is_partly);
    to->writes = add_sampled(to->writes, from->writes, is_partly);
    to->is_untold = to->is_untold || from->is_untold;
}

/* Takes the source of the one that has samples, and the other's reason for having none. */
static int take_source(struct hm_profile *into, const struct hm_profile *from)
{
    const struct hm_profile *sampled = into->source ? into : from, *other = into->source ? from : into;
    if (!is_partly_sampled(into, from))
        return 0;
    char *source = strdup(sampled->source), *why = other->why ? strdup(other->why) : NULL;
    into->unit = sampled->unit;
    free(into->source);
    into->source = source;
    free(into->why);
    into->why = why;
    return source && (why || !other->why) ? 0 : -1;
}

/* The sites of `into` that the other does not have had nothing in that time. */
static void add_nothing(struct hm_profile *into, const struct hm_profile *from, const struct index *from_index)
{
    for (size_t i = 0; i < into->n_sites; i++)
        if (!find(from_index, into->site[i].id)) {
            into->site[i].mean_bytes = mean(into->site[i].mean_bytes, into->elapsed_s, 0, from->elapsed_s);
            into->site[i].resident.mean_bytes =
                mean(into->site[i].resident.mean_bytes, into->elapsed_s, 0, from->elapsed_s);
            into->site[i].counted.low = isnan(into->site[i].counted.low) ? NAN : 0;
        }
}

/* No id stands twice in a profile, so those that are made here are not looked for. */
static int add_sites(struct hm_profile *into, const struct hm_profile *from, const int *number)
{
    struct index old = index_of(into), new = index_of(from);
    int status = old.place && new.place ? 0 : -1;
    if (status == 0)
        add_nothing(into, from, &new);
    for (size_t i = 0; i < from->n_sites && status == 0; i++) {
        const struct place *place = find(&old, from->site[i].id);
        struct hm_profile_site *to = place ? &into->site[place->at] : make_site(into, &from->site[i], number);
        if (to)
            add_site(to, &from->site[i], into->elapsed_s, from->elapsed_s, is_partly_sampled(into, from));
        else
            status = -1;
    }
    free(old.place);
    free(new.place);
    return status;
}

/* "small + large": the inputs of both, each once. */
static int add_class(struct hm_profile *into, const struct hm_profile *from)
{
    char *both = NULL;
    if (!from->class_text || is_same_text(into->class_text, from->class_text) ||
        hm_profile_has_input(into, from->class_text))
        return 0;
    if (asprintf(&both, "%s%s%s", into->class_text ? into->class_text : "", into->class_text ? HM_PROFILE_AND : "",
                 from->class_text) < 0)
        return -1;
    if (strlen(both) >= HM_PROFILE_TEXT)
        both[HM_PROFILE_TEXT - 1] = '\0';
    free(into->class_text);
    into->class_text = both;
    return 0;
}

int hm_profile_merge(struct hm_profile *into, const struct hm_profile *from, const char *path, struct hm_error *error)
{
    if (check(into, from, path, error) < 0)
        return -1;
    int *number = calloc(from->n_objects + 1, sizeof(*number));
    int status = number ? 0 : -1;
    for (size_t i = 0; i < from->n_objects && status == 0; i++) {
        number[i] = take_object(into, &from->object[i]);
        status = number[i] < 0 ? -1 : 0;
    }
    if (status == 0)
        status = add_sites(into, from, number);
    if (status == 0)
        status = add_class(into, from);
    free(number);
    if (status < 0)
        return hm_fail(error, ENOMEM, "%s: no room for its sites, or out of memory", path);
    into->elapsed_s = add_real(into->elapsed_s, from->elapsed_s);
    into->exit_code = into->exit_code > from->exit_code ? into->exit_code : from->exit_code;
    into->processes = add(into->processes, from->processes);
    into->peak_bytes = hm_most(into->peak_bytes, from->peak_bytes);
    into->has_resident_peak = into->has_resident_peak && from->has_resident_peak;
    into->resident_peak_bytes = hm_most(into->resident_peak_bytes, from->resident_peak_bytes);
    into->left_out = add(into->left_out, from->left_out);
    bool is_partly = is_partly_sampled(into, from);
    into->samples = add_sampled(into->samples, from->samples, is_partly);
    into->elsewhere = add_sampled(into->elsewhere, from->elsewhere, is_partly);
    into->saturated = add_sampled(into->saturated, from->saturated, is_partly);
    into->lost = add(into->lost, from->lost);
    return take_source(into, from) == 0 ? 0 : hm_fail(error, ENOMEM, "%s: out of memory", path);
}
