/* SPDX-License-Identifier: Apache-2.0 */
#include "keys.h"

#include <stdbool.h>
#include <string.h>

#include "base/size.h"

#define N_ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

#define MIB (UINT64_C(1) << 20)
#define TIB (UINT64_C(1) << 40)
#define HOUR_MS (UINT64_C(3600) * 1000)

const char *const hm_socket_words[] = {
    [HM_SOCKET_ALL] = "all", [HM_SOCKET_LOCAL] = "local", [HM_SOCKET_REMOTE] = "remote", NULL};
const char *const hm_algorithm_words[] = {
    [HM_ALGORITHM_UNSAID] = "unsaid", [HM_ALGORITHM_REGIONS] = "regions", [HM_ALGORITHM_BINS] = "bins", NULL};
const char *const hm_hot_by_words[] = {
    [HM_HOT_BY_UNSAID] = "unsaid", [HM_HOT_BY_ACCESSES] = "accesses", [HM_HOT_BY_WRITES] = "writes", NULL};

const char *const hm_fallback_words[] = {[HM_FALLBACK_UNSAID] = "unsaid", [HM_FALLBACK_MIGRATE] = "migrate", NULL};
const char *const hm_stale_words[] = {[HM_STALE_UNSAID] = "unsaid", [HM_STALE_OK] = "ok", NULL};
const char *const hm_method_words[] = {
    [HM_METHOD_UNSAID] = "unsaid", [HM_METHOD_SAMPLE] = "sample", [HM_METHOD_MBI] = "mbi", NULL};

static void *field_of(const struct hm_key *key, struct hm_request *request)
{
    return (char *)request + key->offset;
}

static int set_choice(const struct hm_key *key, const char *value, struct hm_request *request)
{
    for (int i = 0; key->choices[i]; i++) {
        int chosen = i + (int)key->least;
        if (strcmp(value, key->choices[i]) == 0) {
            memcpy(field_of(key, request), &chosen, sizeof(chosen));
            return 0;
        }
    }
    return -1;
}

static int store(const struct hm_key *key, uint64_t number, struct hm_request *request)
{
    if (number < key->least || number > key->most)
        return -1;
    memcpy(field_of(key, request), &number, sizeof(number));
    return 0;
}

static int set_number(const struct hm_key *key, const char *value, struct hm_request *request)
{
    uint64_t number;
    return hm_size_parse_number(value, key->least, key->most, &number, NULL) < 0 ? -1 : store(key, number, request);
}

/* A rate of samples, one of N accesses. */
static int set_rate(const struct hm_key *key, const char *value, struct hm_request *request)
{
    uint64_t number;
    return hm_size_parse_one_in(value, key->least, key->most, &number, NULL) < 0 ? -1 : store(key, number, request);
}

static int set_size(const struct hm_key *key, const char *value, struct hm_request *request)
{
    uint64_t bytes;
    return hm_size_parse(value, &bytes, NULL) < 0 ? -1 : store(key, bytes, request);
}

static int set_time(const struct hm_key *key, const char *value, struct hm_request *request)
{
    uint64_t milliseconds;
    return hm_size_parse_duration(value, &milliseconds, NULL) < 0 ? -1 : store(key, milliseconds, request);
}

static int set_percent(const struct hm_key *key, const char *value, struct hm_request *request)
{
    double percent;
    if (hm_size_parse_percent(value, &percent, NULL) < 0 || percent * 100 < (double)key->least ||
        percent * 100 > (double)key->most)
        return -1;
    memcpy(field_of(key, request), &percent, sizeof(percent));
    return 0;
}

/* The cap on the fast tier: bytes, or a percentage, which has a field of its own. */
static int set_cap(const struct hm_key *key, const char *value, struct hm_request *request)
{
    static const struct hm_key share = {
        .offset = offsetof(struct hm_request, migrate.fast_percent), .least = 1, .most = 100 * 100};
    return strchr(value, '%') ? set_percent(&share, value, request) : set_size(key, value, request);
}

/* The name of a sample source is kept as text; the request knows nothing else of sources. */
static int set_source(const struct hm_key *key, const char *value, struct hm_request *request)
{
    if (!hm_sampling_is_word(value))
        return -1;
    memcpy(field_of(key, request), value, strlen(value) + 1);
    return 0;
}

/* A path of any bytes but a comma. Whether there is such a file is the task's to find out, as the user. */
static int set_path(const struct hm_key *key, const char *value, struct hm_request *request)
{
    if (!value[0] || strlen(value) >= HM_REQUEST_TEXT)
        return -1;
    memcpy(field_of(key, request), value, strlen(value) + 1);
    return 0;
}

/* The request knows no packer; the task refuses one that is not there. */
static int set_packer(const struct hm_key *key, const char *value, struct hm_request *request)
{
    size_t length = strlen(value);
    if (length == 0 || length >= HM_PACKER_NAME || strspn(value, "abcdefghijklmnopqrstuvwxyz-") != length)
        return -1;
    memcpy(field_of(key, request), value, length + 1);
    return 0;
}

/* The user's own word. As it is no path, and no option of a command, it goes into lines and tables as it is. */
static int set_input(const struct hm_key *key, const char *value, struct hm_request *request)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", *const more = ".-_";
    size_t length = strlen(value);
    if (length == 0 || length >= HM_INPUT_NAME || strchr(more, value[0]))
        return -1;
    for (const char *byte = value; *byte; byte++)
        if (!strchr(plain, *byte) && !strchr(more, *byte))
            return -1;
    memcpy(field_of(key, request), value, length + 1);
    return 0;
}

static int set_flag(const struct hm_key *key, const char *value, struct hm_request *request)
{
    (void)value;
    *(bool *)field_of(key, request) = true;
    return 0;
}

#define FIELD(field) offsetof(struct hm_request, field)

/* The sources that samples can come from, for errors and for help texts. */
#define HM_SOURCE(word, ...) ", " #word
static const char source_wants[] = "one of " HM_SOURCE_AUTO
#include "core/request/sources.def"
    ;
#define HM_SOURCE(word, ...) ", " #word
static const char source_about[] = "where samples come from: " HM_SOURCE_AUTO
#include "core/request/sources.def"
    ;

static const struct hm_key keys[] = {
    [HM_KEY_SOCKET] = {"socket", HM_KEYS_SOCKET, set_choice, FIELD(socket), HM_SOCKET_ALL, 0, hm_socket_words,
                       "local, remote or all", "socket=local, remote or all",
                       .about = "which sockets' memory: those of the task's CPUs (local), the others (remote), or all "
                                "(default)"},
    {"fast", HM_KEYS_MIGRATOR | HM_KEYS_GUIDE, set_cap, FIELD(migrate.fast_bytes), MIB, UINT64_MAX, NULL,
     "a size of at least 1M, digits and K, M, G or T, as in 64G, or 0.01% to 100% of the fast tier", "fast=25%",
     .about = "how much of the fast tier each step keeps at most: 64G or 25%"},
    {"period", HM_KEYS_MIGRATOR, set_number, FIELD(migrate.period), HM_PERIOD_LEAST, HM_PERIOD_MOST, NULL,
     "a number of accesses from 100 to 1099511627776", "period=65536", .about = "accesses per sample: 100 to 2^40"},
    {"interval", HM_KEYS_MIGRATOR, set_time, FIELD(migrate.interval_ms), 100, 24 * HOUR_MS, NULL,
     "a time of 100ms to 24h, digits and ms, s, min or h, as in 10s", "interval=10s",
     .about = "time between two decisions: 100ms to 24h"},
    {"bins", HM_KEYS_MIGRATOR, set_number, FIELD(migrate.bins), 16, 1048576, NULL, "a number of 16 to 1048576",
     "bins=1000",
     .about = "how many regions of memory are told apart at most: 16 to 1048576; default 8192, for the "
              "algorithm bins 1000"},
    {"algorithm", HM_KEYS_MIGRATOR, set_choice, FIELD(migrate.algorithm), HM_ALGORITHM_REGIONS, 0,
     hm_algorithm_words + HM_ALGORITHM_REGIONS, "regions or bins", "algorithm=regions",
     .about = "regions, or bins as published"},
    {"source", HM_KEYS_MIGRATOR, set_source, FIELD(migrate.source), 0, 0, NULL, source_wants, "source=auto",
     .about = source_about},
    {"overhead", HM_KEYS_MIGRATOR | HM_KEYS_PROFILE, set_percent, FIELD(migrate.overhead_percent), 1, 10 * 100, NULL,
     "a share of the CPUs of 0.01% to 10%, as in 1%", "overhead=1%",
     .about = "share of the CPU time that sampling and moving may cost: 0.01% to 10%"},
    {"rate", HM_KEYS_MIGRATOR, set_size, FIELD(migrate.rate_bytes), MIB, UINT64_MAX, NULL,
     "bytes per second, at least 1M, digits and K, M, G or T, as in 200M", "rate=200M",
     .about = "bytes moved per second at most: 200M"},
    {"hot-by", HM_KEYS_MIGRATOR, set_choice, FIELD(migrate.hot_by), HM_HOT_BY_ACCESSES, 0,
     hm_hot_by_words + HM_HOT_BY_ACCESSES, "accesses or writes", "hot-by=writes",
     .about = "what makes data hot: accesses, or writes alone (isolate)"},
    {"profile", HM_KEYS_GUIDE, set_path, FIELD(guide.profile), 0, 0, NULL, "the path of a file without a comma",
     "profile=app.json",
     .about =
         "the program's profile: app.json; default: the newest of the program's build that is kept (hybridmem sites "
         "list)"},
    {"packer", HM_KEYS_GUIDE, set_packer, FIELD(guide.packer), 0, 0, NULL, "the name of a packer", "packer=thermos",
     .about = "how sites are chosen, as for hybridmem sites plan"},
    {"migrate", HM_KEYS_GUIDE, set_flag, FIELD(guide.migrate), 0, 0, NULL, NULL, "guided,migrate",
     .about = "without a value: a migrator runs, too, and mends what the profile got wrong; with this, or "
              "fallback=migrate, guided takes the migrator's keys"},
    {"online", HM_KEYS_GUIDE, set_flag, FIELD(guide.online), 0, 0, NULL, NULL, "guided,online",
     .about = "without a value: sites are learned and moved while the job runs, without a profile; with this, guided "
              "takes fast, packer, overhead and socket"},
    {"fallback", HM_KEYS_GUIDE, set_choice, FIELD(guide.fallback), HM_FALLBACK_MIGRATE, 0,
     hm_fallback_words + HM_FALLBACK_MIGRATE, "migrate", "fallback=migrate",
     .about = "what a program that cannot be guided runs as: migrate; default: it is refused"},
    {"stale", HM_KEYS_GUIDE, set_choice, FIELD(guide.stale), HM_STALE_OK, 0, hm_stale_words + HM_STALE_OK, "ok",
     "stale=ok",
     .about = "ok: where there is no profile of the build, take one of an older build; sites whose functions did not "
              "change are found"},
    {"input", HM_KEYS_PROFILE | HM_KEYS_GUIDE, set_input, FIELD(input), 0, 0, NULL,
     "a word of 1 to 31 letters, digits, dots, - or _ that begins with a letter or digit", "input=large",
     .about =
         "your word for the kind of input, as in large: a profile that is left has it, and guided takes the newest "
         "with it, if there is one"},
    {"method", HM_KEYS_PROFILE, set_choice, FIELD(profile.method), HM_METHOD_SAMPLE, 0,
     hm_method_words + HM_METHOD_SAMPLE, "sample or mbi", "method=sample",
     .about = "how accesses are seen: by samples (sample, the default), or by runs that hybridmem profile mbi has "
              "planned (mbi)"},
    {"rate", HM_KEYS_PROFILE, set_rate, FIELD(profile.period), HM_PERIOD_LEAST, HM_PERIOD_MOST, NULL,
     "one of how many accesses, 1/100 to 1/1099511627776, as in 1/4096", "rate=1/4096",
     .about = "one of how many accesses is sampled: 1/4096; overhead= still holds"},
    {"plan", HM_KEYS_PROFILE, set_path, FIELD(profile.plan), 0, 0, NULL, "the path of a folder without a comma",
     "plan=app.mbi", .about = "of method=mbi: the folder that hybridmem profile mbi plan has made"},
    {"size", HM_KEYS_FSDAX, set_size, FIELD(size_bytes), 32 * MIB, 1024 * TIB, NULL,
     "a size of 32M to 1024T, digits and K, M, G or T, as in 200G", "size=200G", .is_needed = true,
     .about = "size of all sockets' file systems together: 200G; has to be given"},
    {"keep", HM_KEYS_FSDAX, set_flag, FIELD(keep), 0, 0, NULL, NULL, "fsdax,size=200G,keep",
     .about = "without a value: the file systems stay on the node for your next jobs there, as long as the site keeps "
              "them"},
};
_Static_assert(sizeof(enum hm_socket) == sizeof(int) && sizeof(enum hm_algorithm) == sizeof(int) &&
                   sizeof(enum hm_hot_by) == sizeof(int) && sizeof(enum hm_method) == sizeof(int) &&
                   sizeof(enum hm_fallback) == sizeof(int) && sizeof(enum hm_stale_profile) == sizeof(int),
               "set_choice writes enums as int");

const struct hm_key *hm_key_at(int n)
{
    return n >= 0 && n < N_ROWS(keys) ? &keys[n] : NULL;
}

const char *hm_algorithm_name(enum hm_algorithm algorithm)
{
    int n = (int)algorithm;
    return n >= HM_ALGORITHM_REGIONS && n < N_ROWS(hm_algorithm_words) ? hm_algorithm_words[n] : NULL;
}

const char *hm_hot_by_name(enum hm_hot_by hot_by)
{
    int n = (int)hot_by;
    return n >= HM_HOT_BY_ACCESSES && n < N_ROWS(hm_hot_by_words) ? hm_hot_by_words[n] : NULL;
}

void hm_request_complete_keys(struct hm_migrate_keys *into, const struct hm_migrate_keys *others)
{
    if (into->fast_bytes == 0 && !(into->fast_percent > 0)) {
        into->fast_bytes = others->fast_bytes;
        into->fast_percent = others->fast_percent;
    }
    into->period = into->period ? into->period : others->period;
    into->interval_ms = into->interval_ms ? into->interval_ms : others->interval_ms;
    into->bins = into->bins ? into->bins : others->bins;
    into->rate_bytes = into->rate_bytes ? into->rate_bytes : others->rate_bytes;
    into->overhead_percent = into->overhead_percent > 0 ? into->overhead_percent : others->overhead_percent;
    into->algorithm = into->algorithm ? into->algorithm : others->algorithm;
    if (!into->source[0])
        memcpy(into->source, others->source, sizeof(into->source));
    into->hot_by = into->hot_by ? into->hot_by : others->hot_by;
}
