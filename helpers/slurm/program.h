/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one of Slurm's programs, such as scontrol, and reads what it writes. It gets the variable SLURM_CONF and no
 * other from the environment.
 */
#ifndef HM_SLURM_PROGRAM_H
#define HM_SLURM_PROGRAM_H

#include <stddef.h>

#include "base/error.h"

/* Find the program in the usual folders. PATH is not used, as it may have been set by somebody else. Returns 0, or -1
 * (ENOENT). */
int hm_slurmprogram_find(const char *name, char *path, size_t size);

/*
 * Run the program at `path` with these arguments (NULL-terminated, its name first), and read its output and its errors
 * into `text`, terminated; it is empty where the program was not run. Do not hold the ledger's lock. Returns 0, or -1
 * with a text: EIO where the program has failed, with the first line that it wrote; ETIMEDOUT where it did not end
 * within `patience_ms`.
 */
int hm_slurmprogram_run(const char *path, char *const *words, int patience_ms, char *text, size_t size,
                        struct hm_error *error);

/* The same for the program of this name (words[0]) that hm_slurmprogram_find finds. ENOENT: there is none. */
int hm_slurmprogram_ask(char *const *words, int patience_ms, char *text, size_t size, struct hm_error *error);

#endif
