/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the user typed after --hybrid-mem=, checked for form. Knows nothing of a node, of Slurm, or of the
 * configuration.
 *
 *     MODE[,KEY=VALUE]...     lower case; no key twice
 */
#ifndef HM_REQUEST_H
#define HM_REQUEST_H

#include <stddef.h>

#include "error.h"
#include "tiers.h"

#define HM_REQUEST_TEXT 256 /* longest option text, with the end mark */

enum hm_mode { HM_MODE_OFF, HM_MODE_FAST, HM_MODE_SLOW, HM_MODE_INTERLEAVE, HM_MODE_SPILL };
enum hm_socket { HM_SOCKET_ALL, HM_SOCKET_LOCAL, HM_SOCKET_REMOTE };

struct hm_request {
    enum hm_mode mode; /* a tier kind as the mode (dram, pmem, cxl, hbm) is HM_MODE_FAST with `kind` set */
    enum hm_kind kind; /* HM_KIND_UNKNOWN unless the mode was a kind */
    enum hm_socket socket;
    char text[HM_REQUEST_TEXT]; /* as typed */
};

/*
 * Parse the option's text. Returns 0, or -1: EINVAL for a wrong word (the text names the word and lists what would be
 * right), ENOTSUP for a word that hybridmem knows and this build does not serve ("... is not available on this cluster:
 * <why>"). Takes any bytes; never allocates.
 */
int hm_request_parse(const char *text, struct hm_request *request, struct hm_error *error);

/* "spill", "fast", ... ; the kind's name for a request by kind. */
const char *hm_request_mode_name(const struct hm_request *request);

/* The whole grammar in the words of a help text (for --help, man pages, error texts): static. */
const char *hm_request_help(void);

/* The n-th available mode name (for configuration checks and help), NULL past the last: off fast slow dram pmem cxl hbm
 * interleave spill. */
const char *hm_request_mode_at(int n);

#endif
