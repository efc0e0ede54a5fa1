/* SPDX-License-Identifier: Apache-2.0 */
#include "ranks.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/process.h"
#include "descriptors.h"
#include "members.h"

#define CGROUP_ROOT "/sys/fs/cgroup"
#define TEXT 8192

/* ------------------------------------------------------------------ pure */

bool hm_ranks_is_inside(const char *text, const char *cgroup)
{
    static const char mark[] = "0::";
    size_t length = strlen(cgroup);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, mark, sizeof(mark) - 1) != 0)
            continue;
        const char *path = line + sizeof(mark) - 1;
        return strncmp(path, cgroup, length) == 0 &&
               (path[length] == '/' || path[length] == '\n' || path[length] == '\0');
    }
    return false;
}

bool hm_ranks_is_user(const char *text, uid_t uid)
{
    uid_t id[4];
    return hm_process_parse_uids(text, id) == 0 && id[0] == uid && id[1] == uid && id[2] == uid && id[3] == uid;
}

/* ------------------------------------------------------------------ one process */

static bool is_alive(int pidfd)
{
    struct pollfd end = {.fd = pidfd, .events = POLLIN};
    return poll(&end, 1, 0) == 0;
}

/* The cgroup's path in the hierarchy: without /sys/fs/cgroup. */
static const char *inner(const struct hm_ranks *ranks)
{
    return ranks->cgroup + sizeof(CGROUP_ROOT) - 1;
}

/*
 * Does the process with this number belong to the user and the cgroup? /proc is read by number: the answer holds for
 * the process of a pidfd only if that process still lives afterwards.
 */
static bool is_believed(const struct hm_ranks *ranks, pid_t pid)
{
    char text[TEXT];
    if (hm_process_read(pid, "status", text, sizeof(text)) != 0 || !hm_ranks_is_user(text, ranks->uid))
        return false;
    return !ranks->cgroup[0] ||
           (hm_process_read(pid, "cgroup", text, sizeof(text)) == 0 && hm_ranks_is_inside(text, inner(ranks)));
}

bool hm_ranks_is_ours(const struct hm_ranks *ranks, uint32_t space)
{
    errno = ESRCH; /* an errno of before says nothing of this process */
    return hm_ranks_is_there(ranks, space) && is_believed(ranks, ranks->rank[space].pid) &&
           is_alive(ranks->rank[space].pidfd);
}

static struct hm_rank *find_slot(struct hm_ranks *ranks)
{
    for (uint32_t i = 0; i < ranks->n; i++)
        if (ranks->rank[i].pid == 0)
            return &ranks->rank[i];
    return ranks->n < HM_RANKS ? &ranks->rank[ranks->n] : NULL;
}

/* Takes the process into the list. Returns whether it is there; errno is EMFILE or ENFILE where there is no slot or
 * no descriptor for it, and ESRCH where it has ended. */
static bool take(struct hm_ranks *ranks, pid_t pid)
{
    struct hm_rank *slot = find_slot(ranks);
    struct hm_process process;
    errno = EMFILE;
    int pidfd = slot ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    if (pidfd < 0)
        return false;
    errno = EPERM;
    if (!hm_descriptors_may_keep(pidfd) || !is_believed(ranks, pid) || hm_process_identify(pid, &process) != 0 ||
        !is_alive(pidfd)) {
        int number = is_alive(pidfd) ? errno : ESRCH;
        close(pidfd);
        errno = number;
        return false;
    }
    *slot = (struct hm_rank){.pid = pid, .pidfd = pidfd, .start_time = process.start_time, .is_new = true};
    if (slot == &ranks->rank[ranks->n])
        ranks->n++;
    return true;
}

/* ------------------------------------------------------------------ all of them */

static int compare_index(const void *a, const void *b)
{
    const struct hm_rank_index *x = a, *y = b;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

static void index_living(struct hm_ranks *ranks)
{
    ranks->n_living = 0;
    for (uint32_t i = 0; i < ranks->n; i++)
        if (ranks->rank[i].pid != 0 && !ranks->rank[i].is_gone)
            ranks->by_pid[ranks->n_living++] = (struct hm_rank_index){ranks->rank[i].pid, i};
    if (ranks->n_living > 1)
        qsort(ranks->by_pid, ranks->n_living, sizeof(*ranks->by_pid), compare_index);
}

/* Strikes a process off the fixed list: another one may get its number. */
static void strike(struct hm_ranks *ranks, pid_t pid)
{
    for (uint32_t i = 0; i < ranks->n_list; i++)
        if (ranks->list[i] == pid)
            ranks->list[i] = 0;
}

/*
 * Frees the slots that were marked gone at the last update, and marks the processes that are gone now. Where not all
 * processes of the cgroup were seen, one that was not seen stays if it lives.
 */
static void drop_gone(struct hm_ranks *ranks, const struct hm_members *found)
{
    for (uint32_t i = 0; i < ranks->n; i++) {
        struct hm_rank *rank = &ranks->rank[i];
        if (rank->pid == 0)
            continue;
        rank->is_new = false;
        if (rank->is_gone) {
            close(rank->pidfd);
            *rank = (struct hm_rank){.pidfd = -1};
        } else {
            rank->is_gone =
                !is_alive(rank->pidfd) || (ranks->cgroup[0] && !found->is_cut && !hm_members_has(found, rank->pid));
            if (rank->is_gone)
                strike(ranks, rank->pid);
        }
    }
    while (ranks->n > 0 && ranks->rank[ranks->n - 1].pid == 0)
        ranks->n--;
}

int hm_ranks_space(const struct hm_ranks *ranks, pid_t pid)
{
    struct hm_rank_index wanted = {.pid = pid};
    if (ranks->n_living == 0)
        return -1;
    const struct hm_rank_index *entry = bsearch(&wanted, ranks->by_pid, ranks->n_living, sizeof(wanted), compare_index);
    return entry ? (int)entry->space : -1;
}

int hm_ranks_update(struct hm_ranks *ranks, struct hm_error *error)
{
    struct hm_members found = {0};
    pid_t self = getpid();
    if (ranks->cgroup[0] && hm_members_collect(&found, ranks->cgroup) != 0)
        return hm_fail_errno(error, "cannot look into the cgroup %s", ranks->cgroup);
    hm_members_sort(&found);
    drop_gone(ranks, &found);
    for (uint32_t i = 0; i < ranks->n_list; i++)
        if (ranks->list[i] > 0 && hm_members_add(&found, ranks->list[i]) != 0)
            break;
    hm_members_sort(&found);
    index_living(ranks);
    ranks->n_lacking = 0;
    uint32_t known = ranks->n_living;
    for (size_t i = 0; i < found.n; i++) {
        struct hm_rank_index wanted = {.pid = found.pid[i]};
        if (found.pid[i] == self || found.pid[i] == ranks->aside || (i > 0 && found.pid[i] == found.pid[i - 1]) ||
            (known > 0 && bsearch(&wanted, ranks->by_pid, known, sizeof(wanted), compare_index)))
            continue;
        if (take(ranks, found.pid[i]))
            continue;
        ranks->n_lacking += errno == EMFILE || errno == ENFILE;
        if (errno == ESRCH)
            strike(ranks, found.pid[i]);
    }
    index_living(ranks);
    free(found.pid);
    return (int)ranks->n_living;
}

static int allocate(struct hm_ranks *ranks, uid_t uid, struct hm_error *error)
{
    *ranks = (struct hm_ranks){.uid = uid};
    /* calloc's memory costs nothing before it is used. */
    ranks->rank = calloc(HM_RANKS, sizeof(*ranks->rank));
    ranks->by_pid = calloc(HM_RANKS, sizeof(*ranks->by_pid));
    if (ranks->rank && ranks->by_pid)
        return 0;
    hm_ranks_free(ranks);
    return hm_fail(error, ENOMEM, "no memory for the list of processes");
}

int hm_ranks_init(struct hm_ranks *ranks, const char *cgroup, uid_t uid, struct hm_error *error)
{
    static const char root[] = CGROUP_ROOT "/";
    size_t length = strlen(cgroup);
    if (strncmp(cgroup, root, sizeof(root) - 1) != 0 || length == sizeof(root) - 1 || length >= sizeof(ranks->cgroup) ||
        cgroup[length - 1] == '/' || strstr(cgroup, "/../"))
        return hm_fail(error, EINVAL,
                       "\"%.200s\" is not a cgroup: give a folder below " CGROUP_ROOT ", without a slash at its end",
                       cgroup);
    if (allocate(ranks, uid, error) != 0)
        return -1;
    memcpy(ranks->cgroup, cgroup, length + 1);
    return 0;
}

int hm_ranks_init_list(struct hm_ranks *ranks, const pid_t *pids, uint32_t count, uid_t uid, struct hm_error *error)
{
    if (allocate(ranks, uid, error) != 0)
        return -1;
    ranks->list = calloc(count ? count : 1, sizeof(*pids));
    if (!ranks->list) {
        hm_ranks_free(ranks);
        return hm_fail(error, ENOMEM, "no memory for the list of processes");
    }
    memcpy(ranks->list, pids, count * sizeof(*pids));
    ranks->n_list = count;
    return 0;
}

void hm_ranks_free(struct hm_ranks *ranks)
{
    for (uint32_t i = 0; ranks->rank && i < ranks->n; i++)
        if (ranks->rank[i].pid != 0)
            close(ranks->rank[i].pidfd);
    free(ranks->rank);
    free(ranks->by_pid);
    free(ranks->list);
    *ranks = (struct hm_ranks){.n = 0};
}
