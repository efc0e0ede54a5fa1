/* SPDX-License-Identifier: Apache-2.0 */
#include "store.h"

#include <errno.h>

#include "dayfile.h"
#include "pending.h"

/* Keeps the line in memory. `why` is why it is nowhere else. Returns as hm_store_put. */
static int keep_in_memory(const struct hm_config *config, const struct hm_store_key *key, const char *line,
                          const char *why, struct hm_error *error)
{
    struct hm_error lost = {{0}};
    char path[HM_PENDING_PATH];
    if (hm_pending_keep(config, HM_PENDING_MEMORY, key, line, &lost) == 0) {
        hm_fail(error, errno, "%s (the record waits in %s, until a reboot)", why,
                hm_pending_path(config, HM_PENDING_MEMORY, path));
        return 1;
    }
    int number = errno;
    hm_fail(error, number, "%s; %s", why, lost.text);
    return number == EXFULL ? 2 : -1;
}

int hm_store_put(const struct hm_config *config, const struct hm_store_key *key, const char *line,
                 struct hm_error *error)
{
    struct hm_error why = {{0}}, full = {{0}}, both;
    char path[HM_PENDING_PATH];
    if (error)
        error->text[0] = '\0';
    if (!config->record_dir[0])
        return keep_in_memory(config, key, line, "record_dir is not known, as the configuration is wrong", error);
    if (key->way == HM_STORE_LATER)
        return hm_pending_keep(config, HM_PENDING_DISK, key, line, &full) == 0
                   ? 1
                   : keep_in_memory(config, key, line, full.text, error);
    if (hm_store_append(config, key, line, &why) == 0) {
        if (why.text[0])
            hm_fail(error, errno, "%s", why.text);
        return 0;
    }
    if (hm_pending_keep(config, HM_PENDING_DISK, key, line, &full) == 0) {
        hm_fail(error, errno, "%s (the record waits in %s)", why.text, hm_pending_path(config, HM_PENDING_DISK, path));
        return 1;
    }
    hm_fail(&both, errno, "%s; %s", why.text, full.text);
    return keep_in_memory(config, key, line, both.text, error);
}
