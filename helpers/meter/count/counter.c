/* SPDX-License-Identifier: Apache-2.0 */
#include "counter.h"

#include <errno.h>

/* Hardware updates a counter at moments of its own (RAPL about each millisecond). So the time between two values may be
 * longer than the time between their readings, by at most this many seconds. */
#define SLACK_S 0.1

/* Can the counter have counted `amount` since the last value? */
static bool is_possible(const struct hm_counter *counter, double amount, uint64_t now_ns)
{
    double seconds = (double)(now_ns - counter->last_ns) / 1e9 + SLACK_S;
    return counter->most_per_s <= 0 || amount <= counter->most_per_s * seconds;
}

static enum hm_counter_state subtract(const struct hm_counter *counter, uint64_t raw, uint64_t now_ns,
                                      uint64_t *difference)
{
    bool is_back = raw < counter->last;
    if (!counter->has_last)
        return HM_COUNTER_FIRST;
    if (is_back && counter->modulus == 0)
        return HM_COUNTER_RESET;
    if (counter->modulus != 0 && counter->most_per_s > 0 && is_possible(counter, (double)counter->modulus, now_ns))
        return HM_COUNTER_AMBIGUOUS;
    uint64_t counted = is_back ? counter->modulus - counter->last + raw : raw - counter->last;
    if (!is_possible(counter, (double)counted, now_ns))
        return HM_COUNTER_RESET;
    *difference = counted;
    return HM_COUNTER_VALID;
}

enum hm_counter_state hm_counter_take(struct hm_counter *counter, uint64_t raw, uint64_t now_ns, uint64_t *difference)
{
    *difference = 0;
    if (counter->modulus != 0 && raw >= counter->modulus) {
        counter->has_last = false;
        return HM_COUNTER_UNREADABLE;
    }
    enum hm_counter_state state = subtract(counter, raw, now_ns, difference);
    counter->has_last = true;
    counter->last = raw;
    counter->last_ns = now_ns;
    return state;
}

enum hm_counter_state hm_counter_lose(struct hm_counter *counter, int number)
{
    static const struct {
        int number;
        enum hm_counter_state state;
    } rows[] = {
        {ENOENT, HM_COUNTER_VANISHED},  {ENODEV, HM_COUNTER_VANISHED}, {ENXIO, HM_COUNTER_VANISHED},
        {EACCES, HM_COUNTER_FORBIDDEN}, {EPERM, HM_COUNTER_FORBIDDEN}, {EBUSY, HM_COUNTER_TAKEN},
    };
    counter->has_last = false;
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].number == number)
            return rows[i].state;
    return HM_COUNTER_UNREADABLE;
}

const char *hm_counter_state_text(enum hm_counter_state state)
{
    static const char *const texts[] = {
        [HM_COUNTER_VALID] = "it was read",
        [HM_COUNTER_FIRST] = "this is its first value, with none before it to subtract",
        [HM_COUNTER_VANISHED] = "it is not there any more",
        [HM_COUNTER_FORBIDDEN] = "it may not be read any more",
        [HM_COUNTER_TAKEN] = "another user of perf has its hardware counter, such as another job's monitor",
        [HM_COUNTER_UNREADABLE] = "what was read is not a valid value",
        [HM_COUNTER_RESET] = "it was reset: it went back, or counted more than it can in the time since the last value",
        [HM_COUNTER_REGROUPED] = "a monitoring group that it includes was made or removed",
        [HM_COUNTER_AMBIGUOUS] = "nobody can tell how often it wrapped since the last value",
    };
    return texts[state];
}
