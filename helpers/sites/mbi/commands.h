/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of `hybridmem profile mbi`. Each takes its words with its own name first, and returns the exit status.
 */
#ifndef HM_SITES_MBI_COMMANDS_H
#define HM_SITES_MBI_COMMANDS_H

#include "base/words.h"
#include "store.h"

enum {
    HM_MBI_FAILED = 1,
    HM_MBI_BAD = HM_WORDS_BAD,
};

int hm_mbi_plan(int argc, char **argv);
int hm_mbi_run(int argc, char **argv);
int hm_mbi_status(int argc, char **argv);
int hm_mbi_merge(int argc, char **argv);
int hm_mbi_task(int argc, char **argv);

/* Prints one line on standard error, "hybridmem profile mbi COMMAND: TEXT". Returns `status`. */
int hm_mbi_fail(const char *command, int status, const char *text);

/* Opens the folder that is the only word after the options, and reads its results. Returns 0, or the exit status after
 * a line; hm_mbi_store_close has to follow. */
int hm_mbi_open(int argc, char **argv, const struct hm_words *words, struct hm_mbi_store *store);

/* The options of one run. */
struct hm_mbi_running {
    const char *topology; /* NULL: this machine */
    bool has_nodes;
    struct hm_layout *layout; /* of --nodes */
    bool again;               /* also where it is done */
};

/* Runs the program for one run of the plan, and writes its result. Returns the exit status after a line; ends this
 * process by the signal that ended the program, where that means that nobody wants to go on. */
int hm_mbi_run_one(const struct hm_mbi_store *store, size_t number, const struct hm_mbi_running *options);

/*
 * Finds the program as a shell does, and its build-id (NULL where it is no ELF file, such as a script), which the
 * caller frees. Returns 0, or -1 with a text: it cannot be run, or has no build-id, so that nobody could tell if it is
 * the same program in each run.
 */
int hm_mbi_find_program(const char *name, char path[PATH_MAX], char **build_id, struct hm_error *error);

#endif
