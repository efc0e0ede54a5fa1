/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes names in the folders of records. If a name is accepted as that of a waiting record, its parts give the same
 * name again. The file name that is made of a node's name never leads out of its folder. A moment that is parsed is
 * written the same again, too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/moment.h"
#include "inputtext.h"
#include "job/store/dayfile.h"
#include "job/store/pending.h"

#define NAME 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_safe(const char *name)
{
    return name[0] && name[0] != '.' &&
           strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") == strlen(name);
}

static void check_pending(const char *text)
{
    char node[NAME], again[256], of_day[11];
    struct hm_store_key key;
    if (hm_pending_parse(text, &key, node, sizeof(node)) != 0)
        return;
    snprintf(again, sizeof(again), "%019lld_%u_%u_%u_%s.json", (long long)key.end_ns, key.job_id, key.uid, key.gid,
             node);
    hm_store_day(key.end_ns, of_day);
    if (strcmp(again, text) != 0 || !is_safe(node) || key.node != node || strspn(of_day, "0123456789-") != 10)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char node[NAME], again[HM_MOMENT];
    int64_t seconds;
    char *text = input_text(data, size);
    if (!text)
        return 0;
    hm_store_node(text, node, sizeof(node));
    if (!is_safe(node) || (hm_moment_parse(text, &seconds) == 0 && strcmp(hm_moment_format(seconds, again), text) != 0))
        abort();
    check_pending(text);
    free(text);
    return 0;
}
