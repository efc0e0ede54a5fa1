/* SPDX-License-Identifier: Apache-2.0 */
#include "lookup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/files.h"
#include "base/spawn.h"

#define PROGRAM HM_LIBEXECDIR "/hybridmem-job"
#define PATIENCE_MS 5000
#define ANSWER_BYTES (512 * 1024) /* names of 4096 groups */

static int fail_torn(const struct hm_question *question, struct hm_error *error)
{
    return hm_fail(error, EIO, "%s %s was not looked up: the directory service gave no whole answer", question->kind,
                   question->word);
}

/* Read the line at *at, and move *at to the next one. Returns NULL where there is no whole line. */
static char *next_line(char **at)
{
    char *line = *at, *end = strchr(line, '\n');
    if (!end)
        return NULL;
    *end = '\0';
    *at = end + 1;
    return line;
}

static int take_groups(char *at, unsigned count, struct hm_identity *identity)
{
    identity->groups = calloc((size_t)count + 1, sizeof(*identity->groups));
    for (unsigned i = 0; identity->groups && i < count; i++) {
        char *line = next_line(&at);
        identity->groups[i] = line ? strdup(line) : NULL;
        if (!identity->groups[i]) {
            hm_identity_free(identity);
            return -1;
        }
    }
    return identity->groups && *at == '\0' ? 0 : -1;
}

/* Parse "UID GID GROUPS NAME" and a line for each group, or "no WHY" where there is no such user or group. */
static int take_answer(const struct hm_question *question, char *at, struct hm_identity *identity,
                       struct hm_error *error)
{
    char *line = next_line(&at);
    unsigned uid, gid, count;
    int used = 0;
    memset(identity, 0, sizeof(*identity));
    if (line && strncmp(line, "no ", 3) == 0)
        return hm_fail(error, ENOENT, "%s", line + 3);
    if (!line || sscanf(line, "%10u %10u %10u %n", &uid, &gid, &count, &used) != 3 || used == 0 || count > ANSWER_BYTES)
        return fail_torn(question, error);
    identity->uid = uid;
    identity->gid = gid;
    hm_text_copy(identity->name, line + used, sizeof(identity->name));
    if (take_groups(at, count, identity) == 0)
        return 0;
    hm_identity_free(identity);
    return fail_torn(question, error);
}

static int read_answer(const struct hm_question *question, int output, struct hm_identity *identity,
                       struct hm_error *error)
{
    char *text = malloc(ANSWER_BYTES);
    if (!text)
        return hm_fail(error, ENOMEM, "no memory to look up %s %s", question->kind, question->word);
    (void)hm_file_read_open(output, text, ANSWER_BYTES);
    int result = take_answer(question, text, identity, error);
    free(text);
    return result;
}

int hm_lookup_ask(const char *program, const struct hm_question *question, int patience_ms,
                  struct hm_identity *identity, struct hm_error *error)
{
    char name[] = "hybridmem-job", verb[] = "lookup", locale[] = "LC_ALL=C", kind[8], word[256];
    char *arguments[] = {name, verb, kind, word, NULL}, *environment[] = {locale, NULL};
    hm_text_copy(kind, question->kind, sizeof(kind));
    hm_text_copy(word, question->word, sizeof(word));
    int output = memfd_create("answer", MFD_CLOEXEC);
    if (output < 0)
        return hm_fail_errno(error, "no file in memory to look up %s %s", kind, word);
    const struct hm_spawn spawn = {.path = program,
                                   .arguments = arguments,
                                   .environment = environment,
                                   .extra = -1,
                                   .output = output,
                                   .errors = -1};
    int result = -1;
    pid_t pid = hm_spawn_start(&spawn, error);
    if (pid < 0) {
        errno = EIO; /* not the errno of the start: ENOENT would mean that there is no such user or group */
    } else {
        /* In slurmstepd the exit status may be lost, as slurmstepd waits for all children. The status is not needed: a
         * torn answer is recognized by its text. */
        if (hm_spawn_wait_for(pid, patience_ms) < 0 && errno == ETIMEDOUT)
            hm_fail(error, ETIMEDOUT, "%s %s was not looked up within %d s: does the directory service answer?", kind,
                    word, patience_ms / 1000);
        else
            result = read_answer(question, output, identity, error);
    }
    int number = errno;
    close(output);
    errno = number;
    return result;
}

int hm_lookup_uid(uid_t uid, struct hm_identity *identity, struct hm_error *error)
{
    char word[16];
    snprintf(word, sizeof(word), "%u", uid);
    return hm_lookup_ask(PROGRAM, &(struct hm_question){"uid", word}, PATIENCE_MS, identity, error);
}

int hm_lookup_user(const char *name, uid_t *uid, gid_t *gid, struct hm_error *error)
{
    struct hm_identity identity;
    if (hm_lookup_ask(PROGRAM, &(struct hm_question){"user", name}, PATIENCE_MS, &identity, error) != 0)
        return -1;
    *uid = identity.uid;
    *gid = identity.gid;
    hm_identity_free(&identity);
    return 0;
}

int hm_lookup_group(const char *name, gid_t *gid, struct hm_error *error)
{
    struct hm_identity identity;
    if (hm_lookup_ask(PROGRAM, &(struct hm_question){"group", name}, PATIENCE_MS, &identity, error) != 0)
        return -1;
    *gid = identity.gid;
    hm_identity_free(&identity);
    return 0;
}
