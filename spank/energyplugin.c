/* SPDX-License-Identifier: Apache-2.0 */
#include "energyplugin.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PREFIX "acct_gather_energy/"
#define NO_NUMBER (UINT64_C(1) << 63) /* from here on: Slurm's numbers for "none", and values that fell below zero */

/* What each plugin does, by its source in Slurm 22.05 to 26.05 (src/plugins/acct_gather_energy). */
static const struct hm_energy_plugin plugins[] = {
    /* pm_counters: slurmd reads /sys/cray/pm_counters/energy each time it is asked. Its answer counts from 0; the
     * counter itself is given as the previous value. */
    {"pm_counters", NULL, true},
    {"ipmi", NULL, false},
    {"xcc", NULL, false},
    {"rapl", "adds packages and DRAM up to one figure (powercap and perf have a figure of each)", false},
    {"gpu", "measures GPUs alone", false},
    {"none", "measures nothing (the default where AcctGatherEnergyType is not set)", false},
};

static const struct hm_energy_plugin *find(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof(plugins) / sizeof(plugins[0]); i++)
        if (strlen(plugins[i].name) == length && strncmp(plugins[i].name, word, length) == 0)
            return &plugins[i];
    return NULL;
}

static void note(struct hm_error *reason, const char *word, size_t length, const char *why_not)
{
    size_t used = strlen(reason->text), size = sizeof(reason->text);
    snprintf(reason->text + used, size - used, "%s" PREFIX "%.*s %s", used ? "; " : "", (int)length, word, why_not);
}

const struct hm_energy_plugin *hm_energy_plugin_find(const char *type, struct hm_error *reason)
{
    reason->text[0] = '\0';
    for (const char *word = type; word && *word;) {
        bool is_first = word == type;
        if (strncmp(word, PREFIX, strlen(PREFIX)) == 0)
            word += strlen(PREFIX);
        size_t length = strcspn(word, ",");
        const struct hm_energy_plugin *plugin = find(word, length);
        if (plugin && !plugin->why_not && is_first)
            return plugin;
        note(reason, word, length,
             !plugin           ? "is not known to hybridmem"
             : plugin->why_not ? plugin->why_not
                               : "has to be the first of AcctGatherEnergyType");
        word += length + (word[length] == ',');
    }
    if (!reason->text[0])
        hm_fail(reason, ENOENT, "AcctGatherEnergyType is not set in slurm.conf");
    errno = ENOENT;
    return NULL;
}

int hm_energy_plugin_value(const struct hm_energy_plugin *plugin, const struct hm_energy_answer *answer,
                           int64_t asked_s, int64_t answered_s, uint64_t *joules, struct hm_error *reason)
{
    uint64_t counter = plugin->is_raw ? answer->previous_j : answer->consumed_j;
    *joules = 0;
    if (answer->n_sensors == 0)
        return hm_fail(reason, EBADMSG, "slurmd has no sensor of " PREFIX "%s", plugin->name);
    /* Slurm does not say which sensor is that of the node. */
    if (answer->n_sensors > 1)
        return hm_fail(reason, EBADMSG, PREFIX "%s has %u sensors, and Slurm does not say which is the node's",
                       plugin->name, answer->n_sensors);
    /* A raw counter is 0 where slurmd could not read it. Another counter may be 0; but where the power is 0, too, the
     * sensor was not read yet. */
    if (counter >= NO_NUMBER || (counter == 0 && (plugin->is_raw || answer->current_w == 0)))
        return hm_fail(reason, EBADMSG, "slurmd could not read the energy by " PREFIX "%s", plugin->name);
    if (answer->read_s > answered_s)
        return hm_fail(reason, EBADMSG, PREFIX "%s dates its reading %" PRId64 " s ahead of this node's clock",
                       plugin->name, answer->read_s - answered_s);
    if (answer->read_s < asked_s)
        return hm_fail(reason, EAGAIN, "slurmd has not read " PREFIX "%s for %" PRId64 " s", plugin->name,
                       answered_s - answer->read_s);
    *joules = counter;
    return 0;
}
