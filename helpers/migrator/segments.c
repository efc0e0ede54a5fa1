/* SPDX-License-Identifier: Apache-2.0 */
#include "segments.h"

#include <math.h>
#include <stdbool.h>

/* A loss of as much is as likely a difference as not. Each border is the best of very many places that it could have:
 * the logarithm of their number is between 8 and 10 where there are thousands of samples. */
#define EVEN_LOSS 8
#define EVEN_CLOSE 4 /* e^4: odds of 50 */
/* Beside its own samples a part has its share of so many more (Jeffreys' prior of a proportion: half a sample a side).
 */
#define PRIOR_SAMPLES 1
/* Joins whose loss is below a limit are made together; limits grow by this factor. */
#define FIRST_LIMIT 0.25
#define LIMIT_FACTOR 1.3
#define LN2 0.693147180559945309

double hm_segments_log(double x)
{
    int exponent;
    double m = frexp(x, &exponent); /* 0.5 .. 1 */
    if (m < 0.70710678118654752) {
        m *= 2;
        exponent--;
    }
    /* ln m = 2 artanh z, |z| <= 0.172 */
    double z = (m - 1) / (m + 1), z2 = z * z;
    double sum = 1 + z2 * (1.0 / 3 + z2 * (1.0 / 5 + z2 * (1.0 / 7 + z2 * (1.0 / 9 + z2 / 11))));
    return exponent * LN2 + 2 * z * sum;
}

static double log_likelihood(double count, double exposure)
{
    return count > 0 && exposure > 0 ? count * hm_segments_log(count / exposure) : 0;
}

double hm_segments_loss(double a, double e, double b, double f)
{
    double loss = log_likelihood(a, e) + log_likelihood(b, f) - log_likelihood(a + b, e + f);
    return loss > 0 ? loss : 0;
}

static float join_loss(const struct hm_segment *a, const struct hm_segment *b)
{
    return (float)(hm_segments_loss(a->reads, a->exposure, b->reads, b->exposure) +
                   hm_segments_loss(a->writes, a->exposure, b->writes, b->exposure));
}

/* No neighbour would be a better match for either. */
static bool is_best(const struct hm_segment *segment, uint32_t i)
{
    const struct hm_segment *a = &segment[i], *b = &segment[a->next];
    return (a->previous == HM_SEGMENT_NONE || a->next_loss <= segment[a->previous].next_loss) &&
           (b->next == HM_SEGMENT_NONE || a->next_loss <= b->next_loss);
}

static void join(struct hm_segment *segment, uint32_t i, uint32_t joined)
{
    const struct hm_segment *a = &segment[i], *b = &segment[a->next];
    segment[joined] = (struct hm_segment){.first = a->first,
                                          .n_pages = a->n_pages + b->n_pages,
                                          .exposure = a->exposure + b->exposure,
                                          .reads = a->reads + b->reads,
                                          .writes = a->writes + b->writes,
                                          .loss = a->next_loss,
                                          .left = i,
                                          .right = a->next,
                                          .previous = a->previous,
                                          .next = b->next};
    struct hm_segment *c = &segment[joined];
    if (c->previous != HM_SEGMENT_NONE) {
        segment[c->previous].next = joined;
        segment[c->previous].next_loss = join_loss(&segment[c->previous], c);
    }
    if (c->next != HM_SEGMENT_NONE) {
        segment[c->next].previous = joined;
        c->next_loss = join_loss(c, &segment[c->next]);
    }
}

static void link_all(struct hm_segment *segment, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        segment[i].left = segment[i].right = HM_SEGMENT_NONE;
        segment[i].previous = i > 0 ? (uint32_t)i - 1 : HM_SEGMENT_NONE;
        segment[i].next = i + 1 < n ? (uint32_t)i + 1 : HM_SEGMENT_NONE;
        segment[i].next_loss = i + 1 < n ? join_loss(&segment[i], &segment[i + 1]) : 0;
    }
}

/* Join until one is left: the last one of the 2 n - 1. */
static void join_all(struct hm_segment *segment, size_t n)
{
    uint32_t head = 0, made = (uint32_t)n;
    double limit = FIRST_LIMIT;
    while (made < 2 * n - 1) {
        double least = INFINITY;
        uint32_t before = made;
        for (uint32_t i = head; i != HM_SEGMENT_NONE && segment[i].next != HM_SEGMENT_NONE;) {
            least = segment[i].next_loss < least ? segment[i].next_loss : least;
            if (segment[i].next_loss > limit || !is_best(segment, i)) {
                i = segment[i].next;
                continue;
            }
            join(segment, i, made);
            head = segment[made].previous == HM_SEGMENT_NONE ? made : head;
            i = segment[made++].next;
        }
        while (made == before && limit < least)
            limit *= LIMIT_FACTOR;
    }
}

/* The chance that the two sides differ: 0 or 1 where the loss is EVEN_CLOSE away from even, a smooth step between. */
static double chance_to_differ(double loss)
{
    double step = (loss - EVEN_LOSS + EVEN_CLOSE) / (2 * EVEN_CLOSE);
    if (step <= 0 || step >= 1)
        return step <= 0 ? 0 : 1;
    return step * step * (3 - 2 * step);
}

/* How much of the whole's density there is in a part of it, which holds `samples` of its `all` samples and `share` of
 * its exposure. The parts' samples add up to the whole's. */
static double relative_density(double samples, double all, double share, double chance)
{
    double own = (samples + PRIOR_SAMPLES * share) / (all + PRIOR_SAMPLES);
    return share > 0 ? 1 - chance + chance * own / share : 1;
}

static void shrink(const struct hm_segment *whole, double chance, struct hm_segment *part)
{
    double share = whole->exposure > 0 ? part->exposure / whole->exposure : 0;
    double reads = relative_density(part->reads, whole->reads, share, chance);
    double writes = relative_density(part->writes, whole->writes, share, chance);
    part->read_density = (float)(reads * whole->read_density);
    part->write_density = (float)(writes * whole->write_density);
    part->support = (float)((1 - chance) * whole->support + chance * ((double)part->reads + part->writes));
}

void hm_segments_estimate(struct hm_segment *segment, size_t n)
{
    link_all(segment, n);
    join_all(segment, n);
    struct hm_segment *whole = &segment[2 * n - 2];
    double reads = whole->reads, writes = whole->writes, exposure = whole->exposure;
    whole->read_density = (float)(exposure > 0 ? reads / exposure : 0);
    whole->write_density = (float)(exposure > 0 ? writes / exposure : 0);
    whole->support = (float)(reads + writes);
    /* What was joined comes before what it was joined to. */
    for (size_t i = 2 * n - 1; i-- > n;) {
        double chance = chance_to_differ(segment[i].loss);
        shrink(&segment[i], chance, &segment[segment[i].left]);
        shrink(&segment[i], chance, &segment[segment[i].right]);
    }
}
