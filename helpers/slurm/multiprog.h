/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of `srun --multi-prog`, which says what program each task has. Slurm tells plugins not the task's
 * command, but one for the whole step: the configuration's path, its text, and what all programs have as further
 * arguments.
 */
#ifndef HM_SLURM_MULTIPROG_H
#define HM_SLURM_MULTIPROG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Is this the command of such a step? It is where the second word is what the file named by the first one has. The file
 * is opened with the rights of the caller. */
bool hm_multiprog_is(char *const *words);

/*
 * Finds the program of the task with this number in the step, as its user has written it, by the rules of Slurm
 * (src/slurmd/slurmstepd/multi_prog.c, 22.05 to 26.05). Pure. Returns 0, or -1: ENOENT where the text has none for the
 * task, or none that ends (a quote is not closed); ENAMETOOLONG.
 */
int hm_multiprog_find(const char *text, uint32_t task, char *program, size_t size);

#endif
