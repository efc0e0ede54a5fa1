/* SPDX-License-Identifier: Apache-2.0 */
#include "store.h"

#include <errno.h>

#include "dayfile.h"
#include "pending.h"

int hm_store_put(const struct hm_config *config, const struct hm_store_key *key, const char *line,
                 struct hm_error *error)
{
    struct hm_error why = {{0}}, lost = {{0}};
    if (error)
        error->text[0] = '\0';
    if (key->way == HM_STORE_LATER && hm_pending_keep(config, key, line, &lost) == 0)
        return 1;
    if (hm_store_append(config, key, line, &why) == 0) {
        if (why.text[0])
            hm_fail(error, errno, "%s", why.text);
        return 0;
    }
    if (key->way != HM_STORE_LATER && hm_pending_keep(config, key, line, &lost) == 0) {
        hm_fail(error, errno, "%s (the record waits in %s/pending)", why.text, config->state_dir);
        return 1;
    }
    return hm_fail(error, errno, "%s; %s", why.text, lost.text);
}
