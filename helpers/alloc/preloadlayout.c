/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the layout of the node from the environment, for the preload library: the plugin that set the variable knows
 * the tiers. (libhybridmem has another hm_layout_read, in layoutread.c.) */
#include <stdlib.h>
#include <string.h>

#include "preload.h"

void hm_layout_read(struct hm_layout *layout)
{
    const char *text = secure_getenv(HM_PRELOAD_NODES);
    if (!text || hm_preload_parse_nodes(text, layout, NULL) < 0)
        memset(layout, 0, sizeof(*layout));
}
