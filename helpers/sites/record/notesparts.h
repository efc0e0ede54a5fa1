/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the notes share; for notes*.c only. */
#ifndef HM_SITES_RECORD_NOTESPARTS_H
#define HM_SITES_RECORD_NOTESPARTS_H

#include <stdbool.h>

#include "alloc/forklock.h"
#include "table.h"

extern struct hm_sites_table *hm_notes_table; /* the recorder's; NULL before the notes are on */
/* Of this process's blocks (blocks.h). Those who take it are inside the notes (hm_notes_enter), and so in no handler of
 * a signal that has interrupted others who have it. */
extern struct hm_forklock hm_notes_lock;

/* Is this process the one that the file is of? It is not in a child that was made without the handlers of fork, such as
 * one of vfork. */
bool hm_notes_are_ours(void);
/* Turns the notes off. Returns whether they were on, and of this process. */
bool hm_notes_stop(void);

#endif
