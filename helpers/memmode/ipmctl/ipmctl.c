/* SPDX-License-Identifier: Apache-2.0 */
#include "ipmctl.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "base/look.h"
#include "base/path.h"
#include "base/spawn.h"

#define MOST_WORDS 12
/* For one command. A node with many modules needs a minute to create a goal. */
#define PATIENCE_MS 300000

/* -u B: bytes. delete takes neither that nor -f. */
#define XML "-o", "nvmxml"
#define XML_BYTES XML, "-u", "B"
#define MIXED "MemoryMode=" /* the share is put behind it */

static const struct {
    const char *name;
    const char *words[MOST_WORDS];
} commands[HM_IPMCTL_COMMANDS] = {
    [HM_IPMCTL_RESOURCES] = {"ipmctl show -memoryresources", {"ipmctl", "show", XML_BYTES, "-memoryresources"}},
    [HM_IPMCTL_GOAL] = {"ipmctl show -goal", {"ipmctl", "show", XML_BYTES, "-goal"}},
    [HM_IPMCTL_ABILITIES] = {"ipmctl show -system -capabilities",
                             {"ipmctl", "show", "-a", XML_BYTES, "-system", "-capabilities"}},
    [HM_IPMCTL_MODULES] = {"ipmctl show -dimm", {"ipmctl", "show", XML_BYTES, "-dimm"}},
    [HM_IPMCTL_CREATE_FLAT] = {"ipmctl create -goal PersistentMemoryType=AppDirect",
                               {"ipmctl", "create", "-f", XML_BYTES, "-goal", "PersistentMemoryType=AppDirect"}},
    [HM_IPMCTL_CREATE_CACHE] = {"ipmctl create -goal MemoryMode=100",
                                {"ipmctl", "create", "-f", XML_BYTES, "-goal", "MemoryMode=100"}},
    [HM_IPMCTL_CREATE_MIXED] = {"ipmctl create -goal MemoryMode=PERCENT PersistentMemoryType=AppDirect",
                                {"ipmctl", "create", "-f", XML_BYTES, "-goal", MIXED,
                                 "PersistentMemoryType=AppDirect"}},
    [HM_IPMCTL_DELETE] = {"ipmctl delete -goal", {"ipmctl", "delete", XML, "-goal"}},
};

struct question {
    const char *path;
    enum hm_ipmctl_command command;
    unsigned percent; /* of the modules: memory */
    pid_t asker;
};

/* What the child process hands back. */
struct found {
    struct hm_error error; /* "" where ipmctl has run */
    int status;            /* of wait(2) */
    size_t length;
    char text[HM_NVMXML_MOST_BYTES + 2]; /* one byte more than an answer may have shows that it is longer */
};

const char *hm_ipmctl_name(enum hm_ipmctl_command command)
{
    return commands[command].name;
}

static int isolate(struct hm_error *error)
{
    if (unshare(CLONE_NEWNS | CLONE_NEWIPC) != 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0)
        return hm_fail_errno(error, "cannot make namespaces for it");
    if (mount("none", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=64m,mode=0700") != 0)
        return hm_fail_errno(error, "cannot make a /tmp for it");
    return 0;
}

static int start(const struct question *question, int output, struct hm_error *error)
{
    char locale[] = "LC_ALL=C", words[MOST_WORDS][64];
    char *environment[] = {locale, NULL}, *arguments[MOST_WORDS] = {NULL};
    for (int i = 0; i < MOST_WORDS - 1 && commands[question->command].words[i]; i++) {
        arguments[i] = hm_text_copy(words[i], commands[question->command].words[i], sizeof(words[i]));
        if (strcmp(words[i], MIXED) == 0)
            snprintf(words[i], sizeof(words[i]), MIXED "%u", question->percent);
    }
    const struct hm_spawn spawn = {.path = question->path,
                                   .arguments = arguments,
                                   .environment = environment,
                                   .extra = -1,
                                   .output = output,
                                   .errors = -1,
                                   .dies_with_parent = true};
    return hm_spawn_start(&spawn, error);
}

/* Runs in a child process, whose namespaces end with it. Returns 0 or an errno. */
static int run_isolated(const void *asked, void *into)
{
    const struct question *question = asked;
    struct found *found = into;
    /* Without the process that asks, nobody holds the lock, nor reads back what ipmctl has done: it is killed, too. */
    if (hm_spawn_die_with_parent(question->asker) != 0 || isolate(&found->error) != 0)
        return errno;
    int output = memfd_create("answer", MFD_CLOEXEC);
    if (output < 0) {
        hm_fail_errno(&found->error, "no file in memory for its answer");
        return errno;
    }
    pid_t pid = start(question, output, &found->error);
    if (pid < 0)
        return errno;
    found->status = hm_spawn_wait(pid);
    ssize_t length = hm_file_read_open(output, found->text, sizeof(found->text));
    if (found->status < 0 || length < 0) {
        hm_fail_errno(&found->error, "cannot get its answer");
        return errno;
    }
    found->length = (size_t)length;
    return 0;
}

/* ipmctl ends with 1 where it reports an error, mostly. Any other end is no answer, whatever it has printed. */
static int read_answer(const struct found *found, struct hm_nvmxml *answer, struct hm_error *error)
{
    if (!WIFEXITED(found->status))
        return hm_fail(error, EIO, "a signal ended it");
    if (hm_nvmxml_parse(found->text, found->length, answer, error) != 0)
        return -1;
    bool has_failed = WEXITSTATUS(found->status) != 0;
    if (has_failed && strcmp(answer->list, "Error") != 0 && strcmp(answer->list, "Results") != 0)
        return hm_fail(error, EIO, "it ended with status %d", WEXITSTATUS(found->status));
    return 0;
}

static int check_program(const char *path, struct hm_error *error)
{
    int fd = hm_path_open(path, error);
    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

int hm_ipmctl_run(const char *path, enum hm_ipmctl_command command, unsigned percent, struct hm_nvmxml *answer,
                  struct hm_error *error)
{
    const struct question question = {path, command, percent, getpid()};
    struct hm_error why = {{0}};
    if (check_program(path, error) != 0)
        return -1;
    struct found *found = calloc(1, sizeof(*found));
    if (!found)
        return hm_fail(error, ENOMEM, "no memory for the answer of ipmctl");
    int result = hm_look(run_isolated, &question, found, sizeof(*found), PATIENCE_MS);
    int number = errno;
    if (result == 0)
        result = read_answer(found, answer, &why);
    else if (number == ETIMEDOUT)
        hm_fail(&why, number, "it did not end within %d s", PATIENCE_MS / 1000);
    else if (found->error.text[0])
        why = found->error;
    else
        hm_fail(&why, number, "it was not run: %s", strerror(number));
    free(found);
    return result == 0 ? 0 : hm_fail(error, errno, "%s: %s", commands[command].name, why.text);
}
