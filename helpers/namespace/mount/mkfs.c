/* SPDX-License-Identifier: Apache-2.0 */
#include "mkfs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "base/pagesize.h"
#include "base/spawn.h"
#include "mkfsparts.h"

#define MOST_WORDS 16
#define WORD 40
#define LONGEST_S 60

const char *hm_mkfs_program(const struct hm_filesystem *filesystem, struct hm_error *error)
{
    for (size_t i = 0; i < sizeof(filesystem->paths) / sizeof(filesystem->paths[0]); i++)
        if (access(filesystem->paths[i], X_OK) == 0)
            return filesystem->paths[i];
    hm_fail(error, ENOENT, "%s is missing: install %s", filesystem->paths[0], filesystem->package);
    return NULL;
}

/* Write the program's arguments. Returns how many. */
static int list_words(const struct hm_filesystem *filesystem, const char *device, uint64_t bytes, bool is_kept,
                      char words[MOST_WORDS][WORD])
{
    char size[WORD];
    int n = 0;
    for (size_t i = 0; i < sizeof(filesystem->words) / sizeof(filesystem->words[0]) && filesystem->words[i]; i++)
        snprintf(words[n++], WORD, "%s", filesystem->words[i]);
    for (int i = 0; !is_kept && i < 2 && filesystem->briefly[i]; i++)
        snprintf(words[n++], WORD, "%s", filesystem->briefly[i]);
    snprintf(words[n++], WORD, "-b");
    snprintf(words[n++], WORD, "%s%llu", filesystem->block_prefix, (unsigned long long)hm_page_size());
    snprintf(size, sizeof(size), "%s%lluk", filesystem->size_prefix, (unsigned long long)bytes / 1024);
    if (filesystem->size_option) {
        snprintf(words[n++], WORD, "%s", filesystem->size_option);
        snprintf(words[n++], WORD, "%s", size);
    }
    snprintf(words[n++], WORD, "%s", device);
    if (!filesystem->size_option)
        snprintf(words[n++], WORD, "%s", size);
    return n;
}

int hm_mkfs_run(const struct hm_filesystem *filesystem, const char *device, uint64_t bytes, bool is_kept,
                struct hm_error *error)
{
    char words[MOST_WORDS][WORD], path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin", language[] = "LC_ALL=C";
    char *arguments[MOST_WORDS + 1], *environment[] = {path, language, NULL}, complaint[256];
    const char *program = hm_mkfs_program(filesystem, error);
    int result = -1;
    if (!program)
        return -1;
    int n = list_words(filesystem, device, bytes, is_kept, words);
    for (int i = 0; i < n; i++)
        arguments[i] = words[i];
    arguments[n] = NULL;

    int said = memfd_create("mkfs", MFD_CLOEXEC);
    if (said < 0)
        return hm_fail_errno(error, "cannot run %s", program);
    struct hm_spawn spawn = {.path = program,
                             .arguments = arguments,
                             .environment = environment,
                             .extra = -1,
                             .errors = said,
                             .dies_with_parent = true};
    pid_t pid = hm_spawn_start(&spawn, error);
    int status = pid < 0 ? -1 : hm_spawn_wait_for(pid, LONGEST_S * 1000);
    if (pid >= 0 && status < 0) {
        hm_fail(error, errno, "%s was killed, as it had not made %s ready in %d s", program, device, LONGEST_S);
    } else if (pid >= 0 && status != 0) {
        (void)hm_file_read_open(said, complaint, sizeof(complaint));
        complaint[strcspn(complaint, "\n")] = '\0';
        hm_fail(error, EIO, "%s failed on %s (%s %d): %s", program, device,
                WIFSIGNALED(status) ? "signal" : "exit status",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), complaint);
    } else if (pid >= 0) {
        result = 0;
    }
    close(said);
    return result;
}
