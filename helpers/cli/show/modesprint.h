/* SPDX-License-Identifier: Apache-2.0 */
/* The modes and keys of --hybrid-mem=, from their tables, on standard output. */
#ifndef HM_CLI_SHOW_MODESPRINT_H
#define HM_CLI_SHOW_MODESPRINT_H

/* The grammar, as a part of a help text: each mode and each key with what it means. */
void hm_modesprint_help(void);

/* Each mode with its keys and what it wants of the node, for people. */
void hm_modesprint_text(void);

/* The same as one JSON object. Returns 0, or -1 where it could not be made or written. */
int hm_modesprint_json(void);

#endif
