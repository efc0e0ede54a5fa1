/* SPDX-License-Identifier: Apache-2.0 */
#include "talk.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/patience.h"

#define SYSTEMS HM_REDFISH_ROOT "Systems"
#define TRIES 3       /* to change what others change at the same time */
#define TASK_LOOKS 10 /* looks, a second apart, whether a task has made the change */

#define AGAIN 10 /* tenths of a second until a service that is busy is asked again */

enum {
    OK = 200,
    ACCEPTED = 202,
    NO_CONTENT = 204,
    UNAUTHORIZED = 401,
    FORBIDDEN = 403,
    PRECONDITION_FAILED = 412,
    TOO_MANY_REQUESTS = 429,
    UNAVAILABLE = 503
};

static struct hm_http_answer answer; /* a megabyte, and one at a time */

/* The answer has a status that is not one of success. */
static int fail_status(struct hm_error *error)
{
    char said[HM_REDFISH_SAID];
    if (answer.status == UNAUTHORIZED || answer.status == FORBIDDEN)
        return hm_fail(error, EACCES, "the service does not take these credentials (status %ld)", answer.status);
    hm_redfish_read_error(answer.text, answer.length, said);
    return hm_fail(error, EIO, "status %ld%s%s", answer.status, said[0] ? ": " : "", said);
}

static int fail_at(const struct hm_redfish_talk *talk, const char *verb, const char *path, const struct hm_error *why,
                   struct hm_error *error)
{
    return hm_fail(error, errno, "%s %.120s%.160s: %s", verb, talk->service.base, path, why->text);
}

/* As hm_http_do, into `answer`. A service that is busy has done nothing, and is asked again for as long as an answer
 * may take: slurmd asks for a node's mode once, at its start. */
static int ask(const struct hm_redfish_talk *talk, const char *path, const char *body, const char *etag,
               struct hm_error *error)
{
    uint64_t since_ns = 0;
    for (;;) {
        if (hm_http_do(&talk->service, path, body, etag, &answer, error) != 0)
            return -1;
        if (answer.status != TOO_MANY_REQUESTS && answer.status != UNAVAILABLE)
            return 0;
        for (int i = 0; i < AGAIN; i++)
            if (!hm_patience_pause(&since_ns, talk->service.patience_s))
                return 0;
    }
}

/* Get a resource into `answer`. The text of an error is without the address. */
static int get(const struct hm_redfish_talk *talk, const char *path, struct hm_error *error)
{
    if (ask(talk, path, NULL, "", error) != 0)
        return -1;
    return answer.status == OK ? 0 : fail_status(error);
}

static int find_system(const struct hm_redfish_talk *talk, char path[HM_REDFISH_LINK], struct hm_error *error)
{
    struct hm_error why = {{0}};
    if (talk->system[0]) {
        snprintf(path, HM_REDFISH_LINK, SYSTEMS "/%s", talk->system);
        return 0;
    }
    if (get(talk, SYSTEMS, &why) != 0 || hm_redfish_read_systems(answer.text, answer.length, path, &why) != 0)
        return fail_at(talk, "GET", SYSTEMS, &why, error);
    return 0;
}

static const struct hm_config_board *find_board(const struct hm_redfish_talk *talk,
                                                const struct hm_redfish_system *system)
{
    for (int i = 0; i < talk->n_boards; i++) {
        const struct hm_config_board *board = &talk->boards[i];
        if (strcmp(board->manufacturer, system->manufacturer) == 0 &&
            (!board->model[0] || fnmatch(board->model, system->model, 0) == 0))
            return board;
    }
    return NULL;
}

static int read_settings(struct hm_redfish_talk *talk, struct hm_error *error)
{
    struct hm_error why = {{0}};
    const char *path = talk->bios.settings;
    if (get(talk, path, &why) != 0 ||
        hm_redfish_read_settings(answer.text, answer.length, talk->board->attribute, &talk->settings, &why) != 0)
        return fail_at(talk, "GET", path, &why, error);
    if (answer.etag[0])
        snprintf(talk->settings.etag, sizeof(talk->settings.etag), "%s", answer.etag);
    return 0;
}

int hm_redfish_talk_read(struct hm_redfish_talk *talk, struct hm_error *error)
{
    struct hm_redfish_system system;
    struct hm_error why = {{0}};
    char path[HM_REDFISH_LINK];
    if (find_system(talk, path, error) != 0)
        return -1;
    if (get(talk, path, &why) != 0 || hm_redfish_read_system(answer.text, answer.length, &system, &why) != 0)
        return fail_at(talk, "GET", path, &why, error);
    talk->board = find_board(talk, &system);
    if (!talk->board)
        return hm_fail(error, ENODEV,
                       "no section board of hybridmem.conf is for this node's manufacturer \"%s\", model \"%s\"",
                       system.manufacturer, system.model);
    if (get(talk, system.bios, &why) != 0 ||
        hm_redfish_read_bios(answer.text, answer.length, talk->board->attribute, &talk->bios, &why) != 0)
        return fail_at(talk, "GET", system.bios, &why, error);
    return read_settings(talk, error);
}

/* A task makes the change: wait for it. It may also be one that ends with the next boot, so this is no error. */
static int wait_for_task(struct hm_redfish_talk *talk, const char *value, struct hm_error *error)
{
    for (int i = 0; i < TASK_LOOKS; i++) {
        uint64_t since_ns = 0;
        if (read_settings(talk, error) != 0)
            return -1;
        if (strcmp(talk->settings.value, value) == 0)
            break;
        while (hm_patience_pause(&since_ns, 1))
            continue;
    }
    return 0;
}

int hm_redfish_talk_change(struct hm_redfish_talk *talk, const char *value, struct hm_error *error)
{
    struct hm_error why = {{0}};
    char *body = hm_redfish_write_change(talk->board->attribute, value, talk->bios.takes_on_reset);
    int result = body ? 0 : hm_fail(&why, ENOMEM, "no memory");
    for (int i = 0; i < TRIES && result == 0; i++) {
        if (i > 0 && read_settings(talk, error) != 0) {
            free(body);
            return -1;
        }
        result = ask(talk, talk->bios.settings, body, talk->settings.etag, &why);
        if (result != 0 || answer.status != PRECONDITION_FAILED)
            break;
    }
    free(body);
    if (result == 0 && answer.status != OK && answer.status != ACCEPTED && answer.status != NO_CONTENT)
        result = fail_status(&why);
    if (result != 0)
        return fail_at(talk, "PATCH", talk->bios.settings, &why, error);
    return answer.status == ACCEPTED ? wait_for_task(talk, value, error) : 0;
}
