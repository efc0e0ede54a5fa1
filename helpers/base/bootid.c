/* SPDX-License-Identifier: Apache-2.0 */
#include "bootid.h"

#include <string.h>

#include "files.h"

char *hm_boot_id(char *out, size_t size)
{
    static _Thread_local char known[40]; /* who reads many entries of a ledger asks for it as often */
    if (!known[0] && hm_file_read(HM_BOOT_ID_FILE, known, sizeof(known), NULL) != 0)
        known[0] = '\0';
    return hm_text_copy(out, known, size);
}

bool hm_boot_is_past(const char *id)
{
    char now[40];
    return id[0] && hm_boot_id(now, sizeof(now))[0] && strcmp(id, now) != 0;
}
