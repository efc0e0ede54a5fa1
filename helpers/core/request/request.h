/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the user typed after --hybrid-mem=, checked for form. Knows nothing of a node, of Slurm, or of the
 * configuration.
 *
 *     MODE[,KEY=VALUE]...     lower case; no key twice; each key belongs to some modes; keep has no value
 */
#ifndef HM_CORE_REQUEST_REQUEST_H
#define HM_CORE_REQUEST_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "modes.h"
#include "sources.h"

#define HM_REQUEST_TEXT 256 /* longest option text, with the end mark */

enum hm_socket { HM_SOCKET_ALL, HM_SOCKET_LOCAL, HM_SOCKET_REMOTE };
enum hm_algorithm { HM_ALGORITHM_UNSAID, HM_ALGORITHM_REGIONS, HM_ALGORITHM_BINS };
enum hm_hot_by { HM_HOT_BY_UNSAID, HM_HOT_BY_ACCESSES, HM_HOT_BY_WRITES };

/* The keys of the migrator. 0: not said. */
struct hm_migrate_keys {
    uint64_t fast_bytes; /* the cap on the fast tier, as one of these two */
    double fast_percent; /* of the fast tier's capacity */
    uint64_t period;     /* accesses per sample */
    uint64_t interval_ms;
    uint64_t bins;
    uint64_t rate_bytes; /* per second, most that is moved */
    double overhead_percent;
    enum hm_algorithm algorithm;
    enum hm_hot_by hot_by;
    char source[HM_SOURCE_NAME]; /* a word of source=, "": not said */
};

struct hm_request {
    enum hm_mode mode;
    enum hm_socket socket;
    struct hm_migrate_keys migrate;
    uint64_t size_bytes;        /* of fsdax: all sockets' file systems together; 0 in other modes */
    bool keep;                  /* of fsdax: they outlive the job */
    char text[HM_REQUEST_TEXT]; /* as typed */
};

/*
 * Parse the option's text. Returns 0, or -1: EINVAL for a wrong word (the text names the word and lists what would be
 * right), ENOTSUP for a word that hybridmem knows and this build does not serve ("... is not available on this cluster:
 * <why>"). Takes any bytes; never allocates.
 */
int hm_request_parse(const char *text, struct hm_request *request, struct hm_error *error);

/*
 * Parse the migrator's keys alone, as the configuration has them: "KEY=VALUE[,KEY=VALUE]...". Returns 0, or -1
 * (EINVAL).
 */
int hm_request_parse_keys(const char *text, struct hm_migrate_keys *keys, struct hm_error *error);

/* What `keys` leaves unsaid is taken from `others`. */
void hm_request_complete_keys(struct hm_migrate_keys *keys, const struct hm_migrate_keys *others);

/* The words of algorithm= and hot-by=, NULL for "not said" and what is no value. */
const char *hm_algorithm_name(enum hm_algorithm algorithm);
const char *hm_hot_by_name(enum hm_hot_by hot_by);

/* The mode's row; of what is no mode that of off. */
const struct hm_mode_row *hm_request_mode(const struct hm_request *request);

/* The mode's name: "spill". */
const char *hm_request_mode_name(const struct hm_request *request);

/* Does its mode want one of these (HM_WANTS_...)? With HM_WANTS_ANYTHING: does it ask for anything? */
bool hm_request_wants(const struct hm_request *request, unsigned wants);
#define HM_WANTS_ANYTHING (~0u)

#endif
