/* SPDX-License-Identifier: Apache-2.0 */
#include "valgrind.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/amount.h"

#define CHUNK 65536
#define MOST_FILES 65536      /* descriptors that the program may have; Valgrind fails where the limit is huge */
#define SOCKET_ROOM (4 << 20) /* bytes; the kernel's limit may be lower */
#define READS 64              /* most reads at a time: signals wait meanwhile */
#define MOST_TOLD 10          /* lines of Valgrind's that are passed on */

/* Not constant, as posix_spawn takes words that are not. */
static char first_words[][32] = {
    "valgrind",
    "--tool=lackey",
    "--trace-mem=yes",
    "--basic-counts=no",
    "--trace-children=yes",
    "--child-silent-after-fork=no",
    "--run-libc-freeres=no", /* this and the next would make accesses that the program does not make */
    "--run-cxx-freeres=no",
    "--vgdb=no",
    "--fair-sched=try",
};
#define N_FIRST (sizeof(first_words) / sizeof(first_words[0]))

/* ------------------------------------------------------------------ start */

/*
 * Chooses the number of the descriptor into which Valgrind writes: the highest that there may be, which Valgrind keeps
 * from the program (it reserves the last twelve below the hard limit). So the program cannot close it, nor have a file
 * under this number into which Valgrind would write after an exec. Returns -1 with errno where that fails.
 */
static int choose_number(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return -1;
    limit.rlim_cur = hm_least(limit.rlim_cur, MOST_FILES);
    limit.rlim_max = limit.rlim_cur;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0 ? (int)limit.rlim_cur - 1 : -1;
}

/* The command line of Valgrind with its last option; the caller frees the array. Returns NULL: no memory. */
static char **make_words(char *last_option, char *const *program)
{
    static char end[] = "--";
    size_t n = 0, n_program = 0;
    while (program[n_program])
        n_program++;
    char **words = calloc(N_FIRST + 2 + n_program + 1, sizeof(*words));
    if (!words)
        return NULL;
    while (n < N_FIRST) {
        words[n] = first_words[n];
        n++;
    }
    words[n++] = last_option;
    words[n++] = end;
    memcpy(words + n, program, n_program * sizeof(*words));
    return words;
}

/* Makes the socket; `theirs` is Valgrind's end. Our end gets the writer's pid with what it reads. */
static int open_socket(struct hm_valgrind *valgrind, int *theirs, struct hm_error *error)
{
    int ends[2], on = 1, room = SOCKET_ROOM;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return hm_fail_errno(error, "no socket for Valgrind");
    valgrind->socket = ends[0];
    *theirs = ends[1];
    (void)setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)); /* less room is slower, no more */
    if (setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == 0)
        return 0;
    hm_fail_errno(error, "no socket for Valgrind");
    close(ends[1]);
    return -1;
}

int hm_valgrind_start(struct hm_valgrind *valgrind, struct hm_recording *recording, struct hm_program *program,
                      char *const *words, struct hm_error *error)
{
    char path[PATH_MAX], option[32];
    int theirs = -1;
    *valgrind = (struct hm_valgrind){.recording = recording, .socket = -1};
    if (hm_program_find(words[0], path, error) != 0)
        return -1;
    if (hm_program_find("valgrind", path, NULL) != 0)
        return hm_fail(error, ENODEV,
                       "Valgrind is needed, and is not in PATH: install the package valgrind, or load its module");
    valgrind->traced = calloc(HM_RECORDING_SPACES, sizeof(*valgrind->traced));
    int number = choose_number();
    if (!valgrind->traced || number < 0)
        return hm_fail_errno(error, "Valgrind cannot be started");
    snprintf(option, sizeof(option), "--log-fd=%d", number);
    char **arguments = make_words(option, words);
    int result = -1;
    if (!arguments)
        hm_fail(error, ENOMEM, "out of memory");
    else if (open_socket(valgrind, &theirs, error) == 0) {
        result = hm_program_start(program, path, arguments, theirs, number, error);
        close(theirs);
    }
    free(arguments);
    return result;
}

/* ------------------------------------------------------------------ read */

static void tell(struct hm_valgrind *valgrind, const struct hm_lackey_line *line)
{
    if (++valgrind->n_told <= MOST_TOLD)
        fprintf(stderr, "hybridmem trace: Valgrind: %.*s\n", (int)line->length, line->text);
}

/* Gives a process the next number, if there is one. */
static void number_process(struct hm_valgrind *valgrind, struct hm_valgrind_process *process)
{
    process->space = HM_RECORDING_SPACES;
    process->has_accesses = false;
    if (valgrind->n_traced == HM_RECORDING_SPACES)
        return;
    process->space = valgrind->n_traced++;
    valgrind->traced[process->space].pid = process->pid;
}

static void add(struct hm_valgrind *valgrind, const struct hm_lackey_line *line, bool is_store)
{
    const struct hm_access access = {valgrind->current->space, line->address, line->size, is_store};
    valgrind->current->has_accesses = true;
    if (!valgrind->error.text[0])
        hm_recording_add(valgrind->recording, &access, &valgrind->error);
}

static void take(void *data, const struct hm_lackey_line *line)
{
    struct hm_valgrind *valgrind = data;
    struct hm_valgrind_process *process = valgrind->current;
    switch (line->kind) {
    case HM_LACKEY_LOAD:
    case HM_LACKEY_MODIFY:
        add(valgrind, line, false);
        if (line->kind == HM_LACKEY_LOAD)
            break;
        /* fall through */
    case HM_LACKEY_STORE:
        add(valgrind, line, true);
        break;
    case HM_LACKEY_IMAGE:
        if (process->has_accesses)
            number_process(valgrind, process);
        break;
    case HM_LACKEY_COMMAND:
        if (process->space < HM_RECORDING_SPACES)
            snprintf(valgrind->traced[process->space].command, HM_TRACED_COMMAND, "%.*s", (int)line->length,
                     line->text);
        break;
    case HM_LACKEY_UNKNOWN:
        valgrind->n_unknown++;
        tell(valgrind, line);
        break;
    case HM_LACKEY_TROUBLE:
        tell(valgrind, line);
        break;
    case HM_LACKEY_FETCH:
    case HM_LACKEY_MESSAGE:
        break;
    }
}

/* The process with this pid, which is new if it has not written before. Returns NULL: no memory. */
static struct hm_valgrind_process *find_process(struct hm_valgrind *valgrind, pid_t pid)
{
    if (valgrind->current && valgrind->current->pid == pid)
        return valgrind->current;
    for (size_t i = 0; i < valgrind->n_processes; i++)
        if (valgrind->process[i].pid == pid)
            return &valgrind->process[i];
    if (valgrind->n_processes == valgrind->room) {
        size_t room = 2 * valgrind->room + 8;
        struct hm_valgrind_process *grown = reallocarray(valgrind->process, room, sizeof(*grown));
        if (!grown)
            return NULL;
        valgrind->process = grown;
        valgrind->room = room;
    }
    struct hm_valgrind_process *process = &valgrind->process[valgrind->n_processes++];
    *process = (struct hm_valgrind_process){.pid = pid};
    number_process(valgrind, process);
    return process;
}

bool hm_valgrind_read(struct hm_valgrind *valgrind)
{
    union {
        char room[CMSG_SPACE(sizeof(struct ucred))];
        struct cmsghdr aligned;
    } control;
    char text[CHUNK];
    for (int i = 0; i < READS; i++) {
        struct iovec part = {text, sizeof(text)};
        struct msghdr message = {
            .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
        struct ucred writer = {0};
        ssize_t got = recvmsg(valgrind->socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (got <= 0)
            return got < 0 && (errno == EAGAIN || errno == EINTR);
        const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_CREDENTIALS)
            memcpy(&writer, CMSG_DATA(header), sizeof(writer));
        valgrind->current = find_process(valgrind, writer.pid);
        if (valgrind->current)
            hm_lackey_feed(&valgrind->current->stream, text, (size_t)got, take, valgrind);
        else if (!valgrind->error.text[0])
            hm_fail(&valgrind->error, ENOMEM, "no memory for a process");
    }
    return true;
}

void hm_valgrind_free(struct hm_valgrind *valgrind)
{
    if (valgrind->socket >= 0)
        close(valgrind->socket);
    free(valgrind->process);
    free(valgrind->traced);
}
