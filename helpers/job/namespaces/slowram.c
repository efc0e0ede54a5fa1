/* SPDX-License-Identifier: Apache-2.0 */
#include "slowram.h"

#include <errno.h>
#include <unistd.h>

#include "core/topology/regions.h"
#include "hooklimit.h"
#include "run.h"

#define PATIENCE "600" /* seconds, to wait for the wipe of other jobs' memory */

int hm_slowram_online(const struct hm_config *config, struct hm_error *error)
{
    const char *words[] = {HM_NAMESPACERUN_NAME, "ram",    "online",   "--zone",     hm_slow_ram_name(config->ram),
                           "--patience",         PATIENCE, "--config", config->path, NULL};
    struct hm_answer answer;
    if (!hm_regions_have_devdax(HM_REGIONS_FOLDER))
        return 0;
    if (!config->path[0])
        words[7] = NULL; /* without --config */
    unsigned left_s = hm_hooklimit_pause(config);
    int result = hm_namespacerun(words, -1, &answer, error);
    hm_hooklimit_resume(left_s);
    if (result != 0 && errno == ENOENT)
        return hm_fail(error, ENOENT, "this node has no %s: hybridmem was built without ndctl", HM_NAMESPACERUN_NAME);
    return result != 0 || hm_answer_is(&answer, 0) ? result : hm_answer_fail(&answer, error);
}
