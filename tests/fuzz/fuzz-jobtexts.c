/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the names and texts that a prolog gets from the environment of a job: in the ledger's entry they stay what
 * they are, and become no other field's value. The table has the fields that readers of an entry trust, and texts of
 * several sizes. (fuzz-entry.c has the ledger's own table.)
 */
#include <stdlib.h>
#include <string.h>

#include "base/fields.h"
#include "base/files.h"

#define MOST 8192 /* bytes of an entry */

struct entry {
    uint32_t job_id, uid;
    char account[64], request[512];
    bool is_entered;
    char cgroup[64];
    uint32_t n_warnings;
    char warning[2][200];
};

static const struct hm_field table[] = {
    HM_FIELD(entry, job_id),
    HM_FIELD(entry, uid),
    HM_FIELD(entry, account),
    HM_FIELD(entry, request),
    HM_FIELD(entry, is_entered),
    HM_FIELD(entry, cgroup),
    HM_FIELD(entry, n_warnings),
    HM_FIELD_LIST(entry, warning, HM_COUNTED_BY(entry, n_warnings)),
    {.name = NULL},
};
static const struct hm_fields fields = {.title = "job", .table = table, .most = MOST};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Has the text this line? The DAMON broker reads an entry only by such lines. */
static bool has_line(const char *text, const char *path, const char *value)
{
    const char *found = hm_fields_find(text, path);
    return found && strncmp(found, value, strlen(value)) == 0 && found[strlen(value)] == '\n';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[MOST];
    struct entry entry = {.job_id = 7, .uid = 1000, .cgroup = "/a/job_7", .n_warnings = 2}, again;
    char *name = calloc(1, size + 1);
    if (!name)
        return 0;
    memcpy(name, data, size);
    hm_text_copy(entry.account, name, sizeof(entry.account));
    hm_text_copy(entry.request, name, sizeof(entry.request));
    hm_text_copy(entry.warning[1], name, sizeof(entry.warning[1]));
    if (hm_fields_format(&fields, &entry, NULL, text, NULL) < 0 || !has_line(text, "uid", "1000") ||
        !has_line(text, "cgroup", "/a/job_7"))
        abort();
    memset(&again, 0, sizeof(again));
    if (hm_fields_parse(&fields, text, &again, NULL) != 0 || again.job_id != 7 || again.uid != 1000 ||
        again.is_entered || again.n_warnings != 2 || strcmp(again.account, entry.account) != 0 ||
        strcmp(again.request, entry.request) != 0 || strcmp(again.cgroup, entry.cgroup) != 0 ||
        again.warning[0][0] != '\0' || strcmp(again.warning[1], entry.warning[1]) != 0)
        abort();
    free(name);
    return 0;
}
