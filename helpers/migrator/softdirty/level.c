/* SPDX-License-Identifier: Apache-2.0 */
#include "level.h"

#define MEMORY 16 /* windows of a process that count equally; after more windows, older ones count less and less */
/*
 * A difference between processes is believed only if the variance of their means is more than this many times the
 * variance that windows explain: with few processes, the variance of the means may be large by chance.
 */
#define IMPROBABLE 4.0

void hm_softdirty_level_see(struct hm_softdirty_level *level, double share)
{
    double difference = share - level->mean;
    if (level->n == MEMORY)
        level->squares -= level->squares / MEMORY;
    else
        level->n++;
    level->mean += difference / level->n;
    level->squares += difference * (share - level->mean);
}

struct hm_softdirty_belief hm_softdirty_level_believe(const struct hm_softdirty_level *level, size_t n)
{
    struct hm_softdirty_belief belief = {0};
    double sum = 0, squares = 0, between = 0, inverse = 0, again = 0;
    for (size_t i = 0; i < n; i++) {
        if (level[i].n == 0)
            continue;
        belief.n++;
        sum += level[i].mean;
        squares += level[i].squares;
        inverse += 1.0 / level[i].n;
        again += level[i].n - 1;
    }
    belief.mean = belief.n > 0 ? sum / belief.n : 0;
    belief.within = again > 0 ? squares / again : 0;
    for (size_t i = 0; i < n; i++)
        if (level[i].n > 0)
            between += (level[i].mean - belief.mean) * (level[i].mean - belief.mean);
    if (belief.n > 1 && again > 0) {
        double real = between / (belief.n - 1) - IMPROBABLE * belief.within * inverse / belief.n;
        belief.real = real > 0 ? real : 0;
    }
    return belief;
}

double hm_softdirty_level_of(const struct hm_softdirty_level *level, const struct hm_softdirty_belief *belief)
{
    if (level->n == 0 || belief->real <= 0)
        return belief->mean;
    return belief->mean + (level->mean - belief->mean) * belief->real / (belief->real + belief->within / level->n);
}
