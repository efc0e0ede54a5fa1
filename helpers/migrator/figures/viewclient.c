/* SPDX-License-Identifier: Apache-2.0 */
#include "viewclient.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/size.h"
#include "slurm/stepname.h"

#define NAMES "/proc/net/unix"
#define LISTENS 0x10000u /* in the column Flags: __SO_ACCEPTCON */
#define LINE 256
#define PATIENCE_S 5
#define MOST_RATE 1e18                 /* bytes per second; a larger one is not believed */
#define MOST_PAGES (UINT64_C(1) << 46) /* of a process's addresses: HM_PAGE_BITS of decide/decide.h */

/* Parses "JOB.STEP.MARK". Nothing may follow it. */
static int parse_name(char *word, struct hm_view_name *name)
{
    uint64_t job_id, step_id;
    char *dot = strchr(word, '.');
    char *mark = dot ? strchr(dot + 1, '.') : NULL;
    if (!mark)
        return -1;
    *dot = *mark++ = '\0';
    if (hm_size_parse_number(word, 1, UINT32_MAX, &job_id, NULL) != 0 ||
        hm_size_parse_number(dot + 1, 0, UINT32_MAX, &step_id, NULL) != 0 || strlen(mark) != HM_VIEW_MARK ||
        strspn(mark, "0123456789abcdef") != HM_VIEW_MARK)
        return -1;
    *name = (struct hm_view_name){.job_id = (uint32_t)job_id, .step_id = (uint32_t)step_id};
    memcpy(name->mark, mark, HM_VIEW_MARK);
    return 0;
}

/* Parses a line of /proc/net/unix. Returns 0, or -1 if it is not of a socket that listens under a migrator's name. */
static int parse_line(const char *text, size_t length, struct hm_view_name *name)
{
    static const char mark[] = "@" HM_VIEW_SOCKET;
    char line[LINE];
    unsigned flags;
    int at = 0;
    if (length >= sizeof(line))
        return -1;
    memcpy(line, text, length);
    line[length] = '\0';
    if (sscanf(line, "%*x: %*x %*x %x %*x %*x %*u %n", &flags, &at) != 1 || at == 0 || !(flags & LISTENS) ||
        strncmp(line + at, mark, sizeof(mark) - 1) != 0)
        return -1;
    return parse_name(line + at + sizeof(mark) - 1, name);
}

size_t hm_view_parse_names(const char *text, struct hm_view_name *names, size_t room)
{
    size_t count = 0, length;
    for (const char *line = text; *line; line += length + (line[length] == '\n')) {
        struct hm_view_name name;
        length = strcspn(line, "\n");
        if (parse_line(line, length, &name) != 0)
            continue;
        if (count < room)
            names[count] = name;
        count++;
    }
    return count;
}

ssize_t hm_view_list(struct hm_view_name **names, struct hm_error *error)
{
    char *text = NULL;
    size_t size = 0, count = 0;
    FILE *file = fopen(NAMES, "re");
    *names = NULL;
    if (!file)
        return hm_fail_errno(error, "cannot read " NAMES);
    /* The text has no NUL byte, so this reads the whole file. */
    ssize_t length = getdelim(&text, &size, '\0', file);
    fclose(file);
    if (length > 0)
        count = hm_view_parse_names(text, NULL, 0);
    *names = calloc(count + 1, sizeof(**names));
    if (*names && length > 0)
        hm_view_parse_names(text, *names, count);
    free(text);
    return *names ? (ssize_t)count : hm_fail(error, ENOMEM, "no memory for the names of migrators");
}

/* Sets what hm_view_ask expects of the descriptor: it waits, but not for ever. */
static int set_patience(int fd)
{
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    int flags = fcntl(fd, F_GETFL);
    return flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) != 0 ||
                   setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) != 0
               ? -1
               : 0;
}

int hm_view_connect(const struct hm_view_name *name, uid_t uid, struct hm_error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct ucred peer;
    char step[16];
    socklen_t size = sizeof(peer);
    int length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, HM_VIEW_SOCKET "%u.%u.%s", name->job_id,
                          name->step_id, name->mark);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return hm_fail_errno(error, "cannot make a socket");
    hm_step_name(name->step_id, step, sizeof(step));
    if (connect(fd, (struct sockaddr *)&address,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) != 0 ||
        set_patience(fd) != 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
        hm_fail_errno(error, "cannot reach the migrator of step %s of job %u", step, name->job_id);
        goto failed;
    }
    if (peer.uid != uid) {
        hm_fail(error, EPERM, "the migrator of step %s of job %u is another user's", step, name->job_id);
        goto failed;
    }
    return fd;
failed:;
    int number = errno;
    close(fd);
    errno = number;
    return -1;
}

int hm_view_ask(int fd, struct hm_view *view, struct hm_error *error)
{
    const char ask = '?';
    ssize_t length;
    if (send(fd, &ask, 1, MSG_NOSIGNAL) != 1)
        return hm_fail(error, EPIPE, "the migrator has ended");
    do
        length = recv(fd, view, sizeof(*view), MSG_TRUNC);
    while (length < 0 && errno == EINTR);
    if (length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return hm_fail(error, ETIMEDOUT, "the migrator does not answer within %d s", PATIENCE_S);
    if (length <= 0)
        return hm_fail(error, EPIPE, "the migrator has ended");
    if (length != (ssize_t)sizeof(*view))
        return hm_fail(error, EBADMSG, "the migrator is of another version of hybridmem: %zd bytes, not %zu", length,
                       sizeof(*view));
    return hm_view_check(view, error);
}

static bool is_amount(double value)
{
    return isfinite(value) && value >= 0;
}

static bool is_row(const struct hm_view_row *row)
{
    return is_amount((double)row->reads) && is_amount((double)row->writes) && row->n_pages > 0 &&
           row->n_pages <= MOST_PAGES && row->first <= MOST_PAGES - row->n_pages && row->fast_pages <= row->n_pages &&
           row->slow_pages <= row->n_pages - row->fast_pages;
}

int hm_view_check(const struct hm_view *view, struct hm_error *error)
{
    if (hm_progress_check(&view->progress, error) != 0)
        return -1;
    if (!is_amount(view->promoted_per_s) || !is_amount(view->demoted_per_s) || view->promoted_per_s > MOST_RATE ||
        view->demoted_per_s > MOST_RATE)
        return hm_fail(error, EBADMSG, "the migrator's view: a rate is negative, or impossibly large");
    if (view->n_rows > HM_VIEW_ROWS)
        return hm_fail(error, EBADMSG, "the migrator's view: %u rows are more than %d", view->n_rows, HM_VIEW_ROWS);
    for (uint32_t i = 0; i < view->n_rows; i++)
        if (!is_row(&view->row[i]))
            return hm_fail(error, EBADMSG, "the migrator's view: row %u is out of range", i);
    return 0;
}
