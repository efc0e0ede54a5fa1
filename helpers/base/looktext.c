/* SPDX-License-Identifier: Apache-2.0 */
#include "looktext.h"

#include <errno.h>

#include "look.h"

int hm_looktext_find(int (*look)(const void *question, void *text), const void *question, char *text, size_t size,
                     int patience_ms)
{
    text[0] = '\0';
    int result = hm_look(look, question, text, size, patience_ms);
    text[size - 1] = '\0';
    return result;
}

int hm_looktext_do(const struct hm_lookwork *work, struct hm_error *error)
{
    struct hm_error why = {{0}};
    if (hm_looktext_find(work->run, work->question, why.text, sizeof(why.text), work->patience_ms) == 0)
        return 0;
    if (errno == ETIMEDOUT)
        return hm_fail(error, errno, "%s within %d s: %s", work->cannot, work->patience_ms / 1000, work->late);
    return why.text[0] ? hm_fail(error, errno, "%s", why.text)
                       : hm_fail_errno(error, "%s in a process of its own", work->cannot);
}
