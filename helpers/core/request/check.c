/* SPDX-License-Identifier: Apache-2.0 */
/* Which keys of a request do not go together. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "keys.h"
#include "parsing.h"

#define N_ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))
#define SHOWN HM_PARSING_SHOWN

/* Check that the keys which the mode needs are there. */
static int check_needed(const struct hm_parsing *p)
{
    const struct hm_mode_row *mode = hm_request_mode(p->request);
    const struct hm_key *key;
    for (int n = 0; (key = hm_key_at(n)); n++)
        if (key->is_needed && key->group & mode->keys && !(p->seen & 1u << n))
            return hm_fail(p->error, EINVAL, "%s%.*s: %s wants a %s: write %s,%s", p->start, SHOWN, p->text, mode->name,
                           key->name, mode->name, key->example);
    return 0;
}

/* Check that nothing is there that guidance online does not use: a profile, or a migrator, which would move the same
 * memory. */
static int check_online(const struct hm_parsing *p)
{
    static const char *const used[] = {"socket", "fast", "packer", "overhead", "input", "online"};
    const struct hm_key *key;
    for (int n = 0; p->request->guide.online && (key = hm_key_at(n)); n++) {
        bool is_used = false;
        for (int i = 0; i < N_ROWS(used); i++)
            is_used |= strcmp(key->name, used[i]) == 0;
        if (p->seen & 1u << n && !is_used)
            return hm_fail(p->error, EINVAL,
                           "%s%.*s: guided,online learns sites while the job runs, and takes no %s: use socket, fast, "
                           "packer, overhead or input",
                           p->start, SHOWN, p->text, key->name);
    }
    return 0;
}

/* Check that no key of the migrator is there without a migrator. */
static int check_migrator(const struct hm_parsing *p)
{
    const struct hm_mode_row *mode = hm_request_mode(p->request);
    const struct hm_key *key;
    if (hm_request_wants(p->request, HM_WANTS_MIGRATOR))
        return 0;
    for (int n = 0; (key = hm_key_at(n)); n++)
        if (key->group == HM_KEYS_MIGRATOR && p->seen & 1u << n)
            return hm_fail(p->error, EINVAL,
                           "%s%.*s: %s is the migrator's, and %s has one only with the key migrate, or "
                           "fallback=migrate: write %s,migrate,%s",
                           p->start, SHOWN, p->text, key->name, mode->name, mode->name, key->example);
    return 0;
}

/* Check that the input is not named twice: a profile that was named, or the plan's, is of its own. */
static int check_input(const struct hm_parsing *p)
{
    const struct hm_request *request = p->request;
    const char *other = request->guide.profile[0] ? "profile" : request->profile.plan[0] ? "plan" : NULL;
    if (!request->input[0] || !other)
        return 0;
    return hm_fail(p->error, EINVAL, "%s%.*s: a %s is named, which has an input of its own: leave out input", p->start,
                   SHOWN, p->text, other);
}

/* Check that the keys of profile fit its method. */
static int check_method(const struct hm_parsing *p)
{
    const struct hm_profile_keys *keys = &p->request->profile;
    bool is_sampled = keys->method != HM_METHOD_MBI;
    if (p->request->mode != HM_MODE_PROFILE || (is_sampled && !keys->plan[0]))
        return 0;
    if (is_sampled)
        return hm_fail(p->error, EINVAL, "%s%.*s: plan is of method=mbi: write profile,method=mbi,plan=app.mbi",
                       p->start, SHOWN, p->text);
    if (!keys->plan[0])
        return hm_fail(
            p->error, EINVAL,
            "%s%.*s: method=mbi wants a plan: make one with \"hybridmem profile mbi plan -o app.mbi -- ./app\", "
            "and write profile,method=mbi,plan=app.mbi",
            p->start, SHOWN, p->text);
    if (keys->period || p->request->migrate.overhead_percent > 0)
        return hm_fail(p->error, EINVAL, "%s%.*s: method=mbi samples nothing: leave out %s", p->start, SHOWN, p->text,
                       keys->period ? "rate" : "overhead");
    return 0;
}

int hm_parsing_check(const struct hm_parsing *p)
{
    /* The first that fails is what the user reads. */
    static int (*const checks[])(const struct hm_parsing *p) = {check_needed, check_online, check_migrator,
                                                                check_method, check_input};
    for (int i = 0; i < N_ROWS(checks); i++)
        if (checks[i](p) < 0)
            return -1;
    return 0;
}
