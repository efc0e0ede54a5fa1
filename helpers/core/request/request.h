/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request: what the user typed after --hybrid-mem=, parsed and checked for its form. Nothing here depends on the
 * node, on Slurm or on the configuration.
 *
 *     MODE[,KEY=VALUE]...     words in lower case; no key twice; each key belongs to some modes; keep has no value
 */
#ifndef HM_CORE_REQUEST_REQUEST_H
#define HM_CORE_REQUEST_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "modes.h"
#include "sources.h"

#define HM_REQUEST_TEXT 256 /* longest option text, with the terminating 0 */
#define HM_PACKER_NAME 16   /* longest name of a packer, with the terminating 0 */
#define HM_INPUT_NAME 32    /* longest word for a kind of input, with the terminating 0 */

enum hm_socket { HM_SOCKET_ALL, HM_SOCKET_LOCAL, HM_SOCKET_REMOTE };
enum hm_algorithm { HM_ALGORITHM_UNSAID, HM_ALGORITHM_REGIONS, HM_ALGORITHM_BINS };
enum hm_hot_by { HM_HOT_BY_UNSAID, HM_HOT_BY_ACCESSES, HM_HOT_BY_WRITES };

/* The keys of the migrator. 0: not given. */
struct hm_migrate_keys {
    uint64_t fast_bytes; /* the cap on the fast tier, given either in bytes or as a percentage */
    double fast_percent; /* percentage of the fast tier's capacity */
    uint64_t period;     /* accesses per sample */
    uint64_t interval_ms;
    uint64_t bins;
    uint64_t rate_bytes; /* most bytes moved per second */
    double overhead_percent;
    enum hm_algorithm algorithm;
    enum hm_hot_by hot_by;
    char source[HM_SOURCE_NAME]; /* a word of source=; "": not given */
};

/* How a profile is made: by samples, or by runs in each of which one part of the memory is in the slow tier. */
enum hm_method { HM_METHOD_UNSAID, HM_METHOD_SAMPLE, HM_METHOD_MBI };

/* The keys of profile. Its overhead= is the migrator's. */
struct hm_profile_keys {
    enum hm_method method;
    uint64_t period;            /* accesses per sample, as rate=1/N has them; 0: not given */
    char plan[HM_REQUEST_TEXT]; /* of mbi: path of the plan's folder, as typed; "": not given */
};

/* Accesses per sample that users may ask for. */
#define HM_PERIOD_LEAST 100
#define HM_PERIOD_MOST (UINT64_C(1) << 40)

/* What becomes of a task that cannot be guided. */
enum hm_fallback { HM_FALLBACK_UNSAID, HM_FALLBACK_MIGRATE };

/* May a profile be of another build than the program? */
enum hm_stale_profile { HM_STALE_UNSAID, HM_STALE_OK };

/* The keys of guided. Its migrator, where it has one, takes the migrator's keys. */
struct hm_guide_keys {
    char profile[HM_REQUEST_TEXT]; /* path of the profile, as typed; "": not given */
    char packer[HM_PACKER_NAME];   /* "": not given */
    bool migrate;                  /* a migrator runs beside what is guided */
    bool online;                   /* sites are learned while the program runs; there is no profile to read */
    enum hm_fallback fallback;
    enum hm_stale_profile stale;
};

struct hm_request {
    enum hm_mode mode;
    enum hm_socket socket;
    /* guided has its fast= there, profile its overhead=, and guided,online both */
    struct hm_migrate_keys migrate;
    struct hm_guide_keys guide;
    struct hm_profile_keys profile;
    char input[HM_INPUT_NAME];  /* for profile and guided: the user's word for the kind of input; "": not given */
    uint64_t size_bytes;        /* for fsdax: size of all sockets' file systems together; 0 in other modes */
    bool keep;                  /* for fsdax: the file systems stay after the job */
    char text[HM_REQUEST_TEXT]; /* as typed */
};

/*
 * Parse the option's text. Returns 0, or -1 (EINVAL) where it is wrong: the error says what is wrong, and what would be
 * right. Accepts any bytes; never allocates.
 */
int hm_request_parse(const char *text, struct hm_request *request, struct hm_error *error);

/* Parse a list of the migrator's keys, as it stands in the configuration: "KEY=VALUE[,KEY=VALUE]...". Returns 0, or -1
 * (EINVAL). */
int hm_request_parse_keys(const char *text, struct hm_migrate_keys *keys, struct hm_error *error);

/* Fill in the keys that are not given in `keys` from `others`. */
void hm_request_complete_keys(struct hm_migrate_keys *keys, const struct hm_migrate_keys *others);

/* The words of algorithm= and hot-by=; NULL for "not given" and for numbers out of range. */
const char *hm_algorithm_name(enum hm_algorithm algorithm);
const char *hm_hot_by_name(enum hm_hot_by hot_by);

/* The row of the request's mode; the row of `off` where the number is no mode. */
const struct hm_mode_row *hm_request_mode(const struct hm_request *request);

/* The mode's name: "spill". */
const char *hm_request_mode_name(const struct hm_request *request);

/* Does the request need one of these (HM_WANTS_...), by its mode or its keys? With HM_WANTS_ANYTHING: does it need
 * anything at all? */
bool hm_request_wants(const struct hm_request *request, unsigned wants);
#define HM_WANTS_ANYTHING (~0u)

/* Is a profile to be made by runs of a plan (method=mbi)? */
bool hm_request_is_mbi(const struct hm_request *request);

#endif
