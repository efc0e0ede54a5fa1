/* SPDX-License-Identifier: Apache-2.0 */
#include "nodeholders.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/look.h"
#include "base/process.h"

#define KIB 1024
#define LONGEST_S 60 /* longest time of a look at all processes */
#define PAGE_KIB 4   /* size of a page where the line does not tell it */

/* A word of the line; it ends at a blank. */
struct word {
    const char *text;
    size_t length;
};

static bool next_word(struct word *word)
{
    const char *from = word->text + word->length;
    from += strspn(from, " \n");
    *word = (struct word){from, strcspn(from, " \n")};
    return word->length > 0;
}

static bool begins(const struct word *word, const char *with)
{
    return strncmp(word->text, with, strlen(with)) == 0;
}

/* Is this a policy that names one of the nodes: "bind:4-5", "bind=static:4", "(many):4"? Other words have no colon,
 * except those of a file. */
static bool names_one(const struct word *word, const struct hm_set *nodes)
{
    char list[64];
    struct hm_set named;
    const char *colon = memchr(word->text, ':', word->length);
    if (!colon)
        return false;
    size_t length = (size_t)(word->text + word->length - colon - 1);
    snprintf(list, sizeof(list), "%.*s", (int)length, colon + 1);
    /* A list that is too long for the buffer names many nodes: assume that ours are among them. */
    return length >= sizeof(list) || (hm_set_parse(&named, list, NULL) == 0 && hm_set_intersects(&named, nodes));
}

/* The number of pages in a word "N4=12" (12 pages on node 4), if the node is one of `nodes`; else 0. */
static uint64_t pages_there(const struct word *word, const struct hm_set *nodes)
{
    unsigned node;
    unsigned long long pages;
    if (word->text[0] != 'N' || !isdigit((unsigned char)word->text[1]) ||
        sscanf(word->text, "N%u=%llu", &node, &pages) != 2)
        return 0;
    return hm_set_has(nodes, node) ? pages : 0;
}

void hm_node_use_add(struct hm_node_use *use, const char *line, const struct hm_set *nodes)
{
    struct word word = {line, 0};
    bool is_file = false, is_written = false;
    unsigned long long page_kib = PAGE_KIB;
    uint64_t pages = 0;
    if (!next_word(&word)) /* skip the address */
        return;
    while (next_word(&word)) {
        if (begins(&word, "file="))
            is_file = true;
        else if (begins(&word, "anon=") || begins(&word, "dirty=") || begins(&word, "huge"))
            is_written = true;
        else if (begins(&word, "kernelpagesize_kB="))
            (void)sscanf(word.text, "kernelpagesize_kB=%llu", &page_kib);
        else if (!is_file && names_one(&word, nodes))
            use->is_by_name = true;
        else
            pages += pages_there(&word, nodes);
    }
    if (!is_file || is_written)
        use->bytes += pages * page_kib * KIB;
}

/* Read what a process has on the nodes. A process that has gone is no error: what was read of its file until then
 * counts. Returns 0 or -1. */
static int read_use(const char *pid, const struct hm_set *nodes, struct hm_node_use *use, struct hm_error *error)
{
    char path[40], *line = NULL;
    size_t size = 0;
    *use = (struct hm_node_use){0};
    snprintf(path, sizeof(path), "/proc/%.16s/numa_maps", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return errno == ENOENT || errno == ESRCH ? 0 : hm_fail_errno(error, "cannot tell who has memory: %s", path);
    while (getline(&line, &size, file) > 0)
        hm_node_use_add(use, line, nodes);
    free(line);
    fclose(file);
    return 0;
}

static void take(struct hm_node_holder *holder, const char *pid, const struct hm_node_use *use)
{
    char path[40];
    bool is_first = holder->pid == 0;
    if (!is_first)
        holder->others++;
    if (!is_first && use->bytes <= holder->use.bytes)
        return;
    holder->pid = (pid_t)strtol(pid, NULL, 10);
    holder->use = *use;
    snprintf(path, sizeof(path), "/proc/%.16s/comm", pid);
    if (hm_file_read(path, holder->name, sizeof(holder->name), NULL) != 0)
        hm_text_copy(holder->name, "?", sizeof(holder->name));
}

struct found {
    struct hm_node_holder holder; /* its pid is 0 while no process was found */
    pid_t looking_at;
    struct hm_error error;
};

/* Returns 0 or an errno. */
static int look(const void *nodes, void *data)
{
    struct found *found = data;
    struct hm_node_use use;
    const char *name;
    const pid_t caller = getppid();
    DIR *proc = opendir("/proc");
    if (!proc || access("/proc/self/numa_maps", R_OK) != 0) {
        hm_fail_errno(&found->error, "cannot tell who has memory: %s", proc ? "/proc/self/numa_maps" : "/proc");
        return errno;
    }
    while ((name = hm_process_next(proc))) {
        pid_t pid = (pid_t)strtol(name, NULL, 10);
        if (pid == caller || pid == getpid())
            continue;
        found->looking_at = pid;
        if (read_use(name, nodes, &use, &found->error) != 0)
            return errno;
        if (use.bytes > 0 || use.is_by_name)
            take(&found->holder, name, &use);
    }
    closedir(proc);
    return 0;
}

int hm_node_holder_find(const struct hm_set *nodes, struct hm_node_holder *holder, struct hm_error *error)
{
    struct found found = {0};
    int result = hm_look(look, nodes, &found, sizeof(found), LONGEST_S * 1000);
    *holder = found.holder;
    if (holder->pid > 0)
        return 1;
    if (result == 0)
        return 0;
    if (errno == ETIMEDOUT)
        return hm_fail(error, ETIMEDOUT, "cannot tell within %d s who has memory: process %d is still being looked at",
                       LONGEST_S, (int)found.looking_at);
    if (!found.error.text[0])
        return hm_fail_errno(error, "cannot tell who has memory");
    return hm_fail(error, errno, "%s", found.error.text);
}
