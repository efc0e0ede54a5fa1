/* SPDX-License-Identifier: Apache-2.0 */
#include "bootid.h"

#include <string.h>

#include "files.h"

char *hm_boot_id(char *out, size_t size)
{
    if (hm_file_read(HM_BOOT_ID_FILE, out, size, NULL) != 0)
        out[0] = '\0';
    return out;
}

bool hm_boot_is_past(const char *id)
{
    char now[40];
    return id[0] && hm_boot_id(now, sizeof(now))[0] && strcmp(id, now) != 0;
}
