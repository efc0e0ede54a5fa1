/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A memory mode that an attribute of the BIOS switches, by the board's Redfish service. The attribute is read from the
 * Bios resource, and changed in its settings object, which the firmware applies at the next boot. Root's process only
 * reads the credentials. Whatever comes from the network (TLS, HTTP, JSON) is parsed in a child process without rights.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend.h"
#include "base/files.h"
#include "base/look.h"
#include "base/path.h"
#include "base/privilege.h"
#include "base/spawn.h"
#include "memmode/redfish/talk.h"

#define NOBODY 65534
#define ANSWERS 16         /* most that a conversation waits for */
#define TASK_PATIENCE_S 15 /* beside them: pauses while a task makes a change */
#define CREDENTIALS 300    /* bytes of the file */

enum wish { WISH_READ, WISH_SET, WISH_UNDO };

struct question {
    struct hm_redfish_talk talk;
    enum wish wish;
    enum hm_memmode mode; /* to set */
    pid_t asker;
};

/* What the child process hands back. A hostile service may have taken that process over: root believes none of it. */
struct found {
    struct hm_error error;
    int board; /* of the configured ones */
    char value[HM_MEMMODE_VALUE], next[HM_MEMMODE_VALUE];
};

/* The attribute's value for a mode that a node can be asked to take; "": the configuration has none. */
static const char *value_of(const struct hm_config_board *board, enum hm_memmode mode)
{
    if (mode == HM_MEMMODE_MIXED)
        return board->mixed;
    return mode == HM_MEMMODE_CACHE ? board->cache : board->flat;
}

/* The mode of a value, which is not "". */
static enum hm_memmode mode_of(const struct hm_config_board *board, const char *value)
{
    for (enum hm_memmode mode = HM_MEMMODE_FLAT; mode <= HM_MEMMODE_MIXED; mode++)
        if (strcmp(value, value_of(board, mode)) == 0)
            return mode;
    return HM_MEMMODE_OTHER;
}

/* What the attribute's values mean. */
static int weigh(const struct hm_config_board *board, const struct found *found, struct hm_memmode_bios *bios,
                 struct hm_error *error)
{
    hm_text_copy(bios->attribute, board->attribute, sizeof(bios->attribute));
    hm_text_copy(bios->value, found->value, sizeof(bios->value));
    hm_text_copy(bios->next, found->next, sizeof(bios->next));
    bios->now = mode_of(board, bios->value);
    bios->pending = strcmp(bios->next, bios->value) == 0 ? HM_MEMMODE_NONE : mode_of(board, bios->next);
    bios->has_mixed = board->mixed[0] != '\0';
    if (bios->now != HM_MEMMODE_OTHER)
        return 0;
    return hm_fail(error, EBADMSG,
                   "BIOS attribute %s is \"%s\", and the section board \"%s\" of hybridmem.conf knows only \"%s\" "
                   "(flat), \"%s\" (cache)%s%s%s",
                   board->attribute, bios->value, board->name, board->flat, board->cache,
                   bios->has_mixed ? " and \"" : "", board->mixed, bios->has_mixed ? "\" (mixed)" : "");
}

static int converse(struct hm_redfish_talk *talk, const struct question *question, struct found *found)
{
    struct hm_memmode_bios bios;
    if (hm_http_begin(&talk->service, &found->error) != 0 || hm_redfish_talk_read(talk, &found->error) != 0)
        return -1;
    found->board = (int)(talk->board - talk->boards);
    hm_text_copy(found->value, talk->bios.value, sizeof(found->value));
    hm_text_copy(found->next, talk->settings.value[0] ? talk->settings.value : talk->bios.value, sizeof(found->next));
    if (weigh(talk->board, found, &bios, &found->error) != 0)
        return -1;
    if (question->wish == WISH_SET)
        return hm_redfish_talk_change(talk, value_of(talk->board, question->mode), &found->error);
    /* Also where nothing shows as pending: the service may have taken a change that it shows later. */
    return question->wish == WISH_UNDO ? hm_redfish_talk_change(talk, talk->bios.value, &found->error) : 0;
}

/* Runs in a child process. Returns 0 or an errno. */
static int run_without_rights(const void *asked, void *into)
{
    const struct question *question = asked;
    static struct hm_redfish_talk talk;
    talk = question->talk;
    /* It ends with the process that holds the lock and reads back what was done. No file gets the password: neither a
     * core, nor what variables have libraries write (SSLKEYLOGFILE). */
    if (hm_privilege_drop(NOBODY, NOBODY) != 0 || hm_spawn_die_with_parent(question->asker) != 0 ||
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || clearenv() != 0)
        return errno;
    return converse(&talk, question, into) == 0 ? 0 : errno;
}

/* Put this host's name, up to the first dot, in the place of each %h. */
static int name_host(const char *url, char out[HM_REDFISH_LINK], struct hm_error *error)
{
    char host[HOST_NAME_MAX + 1] = "";
    size_t length = 0;
    if (gethostname(host, sizeof(host) - 1) != 0)
        return hm_fail_errno(error, "this host has no name");
    host[strcspn(host, ".")] = '\0';
    for (; *url && length < HM_REDFISH_LINK; url++) {
        bool is_host = url[0] == '%' && url[1] == 'h';
        length += (size_t)snprintf(out + length, HM_REDFISH_LINK - length, "%.*s", is_host ? HOST_NAME_MAX : 1,
                                   is_host ? host : url);
        url += is_host;
    }
    return length < HM_REDFISH_LINK ? 0
                                    : hm_fail(error, ENAMETOOLONG, "the address of the Redfish service is too long");
}

/* Take the line at *text, which is moved past it. Returns 0, or -1 where it is empty, or longer than `out`. */
static int take_line(char **text, char out[HM_HTTP_TEXT])
{
    size_t length = strcspn(*text, "\n");
    if (length == 0 || length >= HM_HTTP_TEXT)
        return -1;
    memcpy(out, *text, length);
    out[length] = '\0';
    *text += length + ((*text)[length] == '\n');
    return 0;
}

static int read_credentials(const char *path, struct hm_http_service *service, struct hm_error *error)
{
    char text[CREDENTIALS], *at = text;
    struct stat status;
    int result, fd = hm_path_open(path, error);
    if (fd < 0)
        return -1;
    if (fstat(fd, &status) != 0)
        result = hm_fail_errno(error, "%s", path);
    else if (status.st_mode & 077)
        result = hm_fail(error, EPERM, "%s has mode %04o: nobody but root may read the credentials (0600)", path,
                         status.st_mode & 07777);
    else if (hm_file_read_open(fd, text, sizeof(text)) < 0)
        result = hm_fail_errno(error, "cannot read %s", path);
    else if (take_line(&at, service->user) != 0 || take_line(&at, service->password) != 0 || *at)
        result = hm_fail(error, EBADMSG, "%s has to have two lines: the user's name and the password", path);
    else
        result = 0;
    int number = errno;
    explicit_bzero(text, sizeof(text));
    close(fd);
    errno = number;
    return result;
}

static int prepare(const struct hm_config *config, struct question *question, struct hm_error *error)
{
    const struct hm_config_redfish *redfish = &config->redfish;
    struct hm_redfish_talk *talk = &question->talk;
    talk->service.ca = redfish->ca;
    talk->service.verify = redfish->verify;
    talk->service.patience_s = redfish->timeout_s;
    talk->boards = config->board;
    talk->n_boards = config->n_boards;
    hm_text_copy(talk->system, redfish->system, sizeof(talk->system));
    if (name_host(redfish->url, talk->service.base, error) != 0)
        return -1;
    return read_credentials(redfish->credentials, &talk->service, error);
}

/* Take what a successful child has handed back. */
static int take(const struct hm_config *config, struct found *found, struct hm_memmode_bios *bios,
                struct hm_error *error)
{
    found->value[sizeof(found->value) - 1] = found->next[sizeof(found->next) - 1] = '\0';
    if (found->board < 0 || found->board >= config->n_boards || !hm_redfish_is_value(found->value) ||
        !hm_redfish_is_value(found->next))
        return hm_fail(error, EBADMSG, "the process that talks to the Redfish service %s does not tell what it found",
                       config->redfish.url);
    return weigh(&config->board[found->board], found, bios, error);
}

static int ask(const struct hm_hardware *hardware, enum wish wish, enum hm_memmode mode, struct hm_memmode_bios *bios,
               struct hm_error *error)
{
    const struct hm_config *config = hardware->config;
    struct question question = {.wish = wish, .mode = mode, .asker = getpid()};
    struct found found = {.board = -1};
    int patience_s = ANSWERS * (int)config->redfish.timeout_s + TASK_PATIENCE_S;
    int result = prepare(config, &question, error);
    if (result == 0) {
        result = hm_look(run_without_rights, &question, &found, sizeof(found), patience_s * 1000);
        found.error.text[sizeof(found.error.text) - 1] = '\0';
        if (result == 0)
            result = take(config, &found, bios, error);
        else if (found.error.text[0])
            hm_fail(error, errno, "%s", found.error.text);
        else
            hm_fail_errno(error, "no conversation with the Redfish service %s", config->redfish.url);
    }
    int number = errno;
    explicit_bzero(&question, sizeof(question));
    errno = number;
    return result;
}

static int read_all(const struct hm_hardware *hardware, struct hm_memmode_state *state, struct hm_error *error)
{
    return ask(hardware, WISH_READ, HM_MEMMODE_NONE, &state->bios, error);
}

static int set(const struct hm_hardware *hardware, enum hm_memmode mode, struct hm_error *error)
{
    struct hm_memmode_bios before;
    return ask(hardware, WISH_SET, mode, &before, error);
}

static int undo(const struct hm_hardware *hardware, struct hm_error *error)
{
    struct hm_memmode_bios before;
    return ask(hardware, WISH_UNDO, HM_MEMMODE_NONE, &before, error);
}

static bool is_away(const struct hm_hardware *hardware)
{
    (void)hardware;
    return false;
}

const struct hm_backend hm_backend_redfish = {
    .by = HM_MEMMODE_BY_BIOS,
    .read_now = read_all,
    .read_pending = read_all,
    .read = read_all,
    .set = set,
    .undo = undo,
    .is_away = is_away,
};
