/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program in Valgrind, and takes each load and store that it and the processes of it make. Valgrind writes a
 * line for each into a socket; the kernel tells which process has written it.
 */
#ifndef HM_CLI_TRACE_VALGRIND_H
#define HM_CLI_TRACE_VALGRIND_H

#include "migrator/recording/lackey.h"
#include "migrator/recording/recording.h"
#include "program.h"

#define HM_TRACED_COMMAND 128

/* A process in the trace, or one of the programs that it has run: with each it has new memory. */
struct hm_traced {
    pid_t pid;
    char command[HM_TRACED_COMMAND]; /* "": it has been forked, and runs the program of its parent */
};

struct hm_valgrind_process {
    pid_t pid;
    uint32_t space;    /* its number in the trace; HM_RECORDING_SPACES: there is no number left */
    bool has_accesses; /* of its present program */
    struct hm_lackey_stream stream;
};

struct hm_valgrind {
    struct hm_recording *recording;
    int socket;
    struct hm_valgrind_process *process, *current; /* current: whose output is read */
    size_t n_processes, room;
    struct hm_traced *traced; /* by number in the trace */
    uint32_t n_traced;
    uint64_t n_unknown; /* lines that are none of lackey's */
    unsigned n_told;
    struct hm_error error; /* why the recording has failed; the program goes on without it */
};

/*
 * Starts the program. Returns 0, or -1 with a text and errno: ENOENT where there is no such program, EACCES where it
 * cannot be run, ENODEV where Valgrind is missing. hm_valgrind_free has to follow, whatever is returned.
 */
int hm_valgrind_start(struct hm_valgrind *valgrind, struct hm_recording *recording, struct hm_program *program,
                      char *const *words, struct hm_error *error);
/* Takes what there is, without waiting. Returns false when all processes have ended. */
bool hm_valgrind_read(struct hm_valgrind *valgrind);
void hm_valgrind_free(struct hm_valgrind *valgrind);

#endif
