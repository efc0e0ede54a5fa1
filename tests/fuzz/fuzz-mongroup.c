/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes names of resctrl groups, and the kernel's list of a process's groups. A name that counts as hybridmem's is
 * just what hybridmem would write for that job, and no process is taken out of a site's own group. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "inputtext.h"
#include "job/node/mongroupname.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char ours[] = "hybridmem.7.2";

/* Is the first line that begins with `key` just the key, or the key and `word`? */
static bool is_line(const char *text, const char *key, const char *word)
{
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, key, strlen(key)) == 0) {
            const char *value = line + strlen(key);
            size_t length = strcspn(value, "\n");
            return length == 0 || (length == strlen(word) && strncmp(value, word, length) == 0);
        }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hm_error error = {""};
    char again[HM_MONGROUP_NAME];
    uint32_t job_id, restart;
    char *text = input_text(data, size);
    if (!text)
        return 0;
    if (hm_mongroup_name_read(text, &job_id, &restart) && strcmp(hm_mongroup_name(job_id, restart, again), text) != 0)
        abort();
    bool may_enter = hm_mongroup_own_check(text, ours, &error) == 0;
    if (may_enter != (is_line(text, "res:", "/") && is_line(text, "mon:", ours)) ||
        may_enter == (error.text[0] != '\0'))
        abort();
    free(text);
    return 0;
}
