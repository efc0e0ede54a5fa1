/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the modes and keys of --hybrid-mem=, from their tables, on standard output. */
#ifndef HM_CLI_SHOW_MODESPRINT_H
#define HM_CLI_SHOW_MODESPRINT_H

/* Prints the grammar for a help text: each mode and each key with its meaning. */
void hm_modesprint_help(void);

/* Prints each mode with its keys and what it wants of the node, for people. */
void hm_modesprint_text(void);

/* Prints the same as one JSON object. Returns 0, or -1 if it could not be made or written. */
int hm_modesprint_json(void);

#endif
