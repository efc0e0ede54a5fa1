/* SPDX-License-Identifier: Apache-2.0 */
#include "source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fit.h"
#include "rows.h"

#define LEAST_REASON 24 /* bytes of a source's reason, with its name, for which there is room in any case */

static const struct hm_source_row *const rows[HM_SOURCES] = {
#define HM_SOURCE(word, ...) &hm_source_##word,
#include "core/request/sources.def"
};

const struct hm_source_row *hm_source_at(int n)
{
    return n >= 0 && n < HM_SOURCES ? rows[n] : NULL;
}

char *hm_source_names(char *out, size_t size)
{
    int used = snprintf(out, size, HM_SOURCE_AUTO);
    for (int i = 0; i < HM_SOURCES && used >= 0 && (size_t)used < size; i++)
        used += snprintf(out + used, size - (size_t)used, "%s%s", i + 1 < HM_SOURCES ? ", " : " or ", rows[i]->name);
    return out;
}

/* Adds the reason of the n-th source to the text. A long one is cut, so that there is room for each of the others. */
static size_t add_reason(char *why, size_t used, int n, const char *text)
{
    char reason[HM_WARNING];
    size_t room = HM_WARNING - 1 - used - (size_t)(HM_SOURCES - 1 - n) * LEAST_REASON;
    hm_fit(reason, room + 1, "%s%s: %s", used ? "; " : "", rows[n]->name, text);
    return used + (size_t)snprintf(why + used, HM_WARNING - used, "%s", reason);
}

/* Opens the first source that works. `why` becomes the reasons of those before it. */
static struct hm_source *open_best(const struct hm_source_setup *setup, char *why, struct hm_error *error)
{
    size_t used = 0;
    for (int i = 0; i < HM_SOURCES; i++) {
        struct hm_error reason = {""};
        struct hm_source *source = rows[i]->open(setup, &reason);
        if (source)
            return source;
        int number = errno;
        used = add_reason(why, used, i, reason.text);
        if (number == ECANCELED) /* told to end: no other source is wanted either */
            break;
    }
    hm_fail(error, ENODEV, "no source of samples works here: %s", why);
    return NULL;
}

struct hm_source *hm_source_open(const char *name, const struct hm_source_setup *setup, char *why,
                                 struct hm_error *error)
{
    char names[128];
    why[0] = '\0';
    if (strcmp(name, HM_SOURCE_AUTO) == 0)
        return open_best(setup, why, error);
    for (int i = 0; i < HM_SOURCES; i++)
        if (strcmp(name, rows[i]->name) == 0)
            return rows[i]->open(setup, error);
    hm_fail(error, EINVAL, "\"%s\" is not a source: use %s", name, hm_source_names(names, sizeof(names)));
    return NULL;
}

void hm_source_prepare(const struct hm_source_setup *setup, const char *cgroup)
{
    for (int i = 0; i < HM_SOURCES; i++)
        if (rows[i]->prepare)
            rows[i]->prepare(setup, cgroup);
}

void hm_source_forget(void)
{
    for (int i = 0; i < HM_SOURCES; i++)
        if (rows[i]->forget)
            rows[i]->forget();
}
