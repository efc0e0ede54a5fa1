/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes the values of hybridmem.conf that are words, names or lists (field.h). */
#include "field.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define QUOTED "\"%s\""
#define NAME_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

static int read_choice(const struct hm_configfield *row, void *field, const char *value, bool is_first,
                       struct hm_error *error)
{
    char list[128] = "";
    (void)is_first;
    for (int i = 0; row->choices[i]; i++) {
        size_t used = strlen(list);
        if (strcmp(value, row->choices[i]) == 0) {
            int chosen = i + (int)row->least;
            memcpy(field, &chosen, sizeof(chosen));
            return 0;
        }
        snprintf(list + used, sizeof(list) - used, "%s%s",
                 i == 0                ? ""
                 : row->choices[i + 1] ? ", "
                                       : " or ",
                 row->choices[i]);
    }
    return hm_fail(error, EINVAL, "\"%.40s\" is not one of its values: use %s", value, list);
}

static bool write_choice(const struct hm_configfield *row, const void *field, char *out, size_t size)
{
    int chosen, n = 0;
    memcpy(&chosen, field, sizeof(chosen));
    chosen -= (int)row->least;
    while (row->choices[n])
        n++;
    if (chosen < 0 || chosen >= n)
        return false;
    snprintf(out, size, "%s", row->choices[chosen]);
    return true;
}

static int read_yes_no(const struct hm_configfield *row, void *field, const char *value, bool is_first,
                       struct hm_error *error)
{
    (void)row, (void)is_first;
    if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
        return hm_fail(error, EINVAL, "\"%.40s\" is not one of its values: use yes or no", value);
    *(bool *)field = value[0] == 'y';
    return 0;
}

static bool write_yes_no(const struct hm_configfield *row, const void *field, char *out, size_t size)
{
    (void)row;
    snprintf(out, size, "%s", *(const bool *)field ? "yes" : "no");
    return true;
}

static int read_name(const struct hm_configfield *row, void *field, const char *value, bool is_first,
                     struct hm_error *error)
{
    (void)is_first;
    size_t length = strlen(value);
    if (length == 0 || length >= row->most || value[strspn(value, NAME_BYTES)] != '\0')
        return hm_fail(error, EINVAL, "\"%.80s\" is not a name: use 1 to %u letters, digits, dots, - and _", value,
                       (unsigned)row->most - 1);
    memcpy(field, value, length + 1);
    return 0;
}

/* A text that may stand in quotes; hm_configclean lets only printable ASCII pass. */
static int read_text(const struct hm_configfield *row, void *field, const char *value, bool is_first,
                     struct hm_error *error)
{
    (void)is_first;
    size_t length = strlen(value);
    if (length == 0 || length >= row->most || strchr(value, '"'))
        return hm_fail(error, EINVAL, "\"%.80s\" is not a text: use 1 to %u characters, no double quotes", value,
                       (unsigned)row->most - 1);
    memcpy(field, value, length + 1);
    return 0;
}

/* An empty text means that no value was given. */
static bool write_text(const struct hm_configfield *row, const void *field, char *out, size_t size)
{
    (void)row;
    snprintf(out, size, QUOTED, (const char *)field);
    return *(const char *)field != '\0';
}

static int read_folder(const struct hm_configfield *row, void *field, const char *value, bool is_first,
                       struct hm_error *error)
{
    (void)is_first;
    size_t length = strlen(value);
    if (value[0] != '/')
        return hm_fail(error, EINVAL, "\"%.80s\" is a relative path: write it from / on", value);
    if (strstr(value, "/../") || (length >= 3 && strcmp(value + length - 3, "/..") == 0))
        return hm_fail(error, EINVAL, "\"%.80s\" goes through ..: write the path without it", value);
    if (length >= row->most)
        return hm_fail(error, EINVAL, "\"%.80s...\" is too long: a path here has at most %u characters", value,
                       (unsigned)row->most - 1);
    memcpy(field, value, length + 1);
    return 0;
}

static int read_modes(const struct hm_configfield *row, void *field, const char *value, bool is_first,
                      struct hm_error *error)
{
    struct hm_request request;
    (void)row;
    int mode = hm_mode_find(value, strlen(value));
    if (mode >= 0) {
        *(unsigned *)field = (is_first ? 0 : *(unsigned *)field) | 1u << mode;
        return 0;
    }
    /* The value is not the name of a mode. hm_request_parse says what is wrong with it. A value that it accepts is a
     * mode with keys. */
    if (hm_request_parse(value, &request, error) == 0)
        hm_fail(error, EINVAL, "\"%.40s\" is not a mode: write modes without keys, as in { spill, fast }", value);
    return -1;
}

static bool write_modes(const struct hm_configfield *row, const void *field, char *out, size_t size)
{
    unsigned modes = *(const unsigned *)field;
    char list[HM_MODES_LIST];
    (void)row;
    snprintf(out, size, "{ %s }", hm_modes_list(modes, ", ", list, sizeof(list)));
    return modes != 0;
}

static int read_request(const struct hm_configfield *row, void *field, const char *value, bool is_first,
                        struct hm_error *error)
{
    struct hm_request request;
    (void)row, (void)is_first;
    if (hm_request_parse(value, &request, error) < 0)
        return -1;
    const char *why = hm_request_mode(&request)->no_default;
    if (why)
        return hm_fail(error, EINVAL, "\"%.40s\" cannot be a default: %s", value, why);
    memcpy(field, request.text, sizeof(request.text));
    return 0;
}

static int read_migrate(const struct hm_configfield *row, void *field, const char *value, bool is_first,
                        struct hm_error *error)
{
    struct hm_config_migrate *migrate = field;
    (void)row, (void)is_first;
    if (hm_request_parse_keys(value, &migrate->keys, error) < 0)
        return -1;
    snprintf(migrate->text, sizeof(migrate->text), "%s", value);
    return 0;
}

static bool write_migrate(const struct hm_configfield *row, const void *field, char *out, size_t size)
{
    const struct hm_config_migrate *migrate = field;
    (void)row;
    snprintf(out, size, QUOTED, migrate->text);
    return true;
}

static int read_nodes(const struct hm_configfield *row, void *field, const char *value, bool is_first,
                      struct hm_error *error)
{
    struct hm_set *nodes = field;
    (void)row, (void)is_first;
    if (hm_set_parse(nodes, value, error) < 0)
        return -1;
    if (hm_set_is_empty(nodes))
        return hm_fail(error, EINVAL, "the list of nodes is empty: write NUMA node numbers, as in \"0-1\"");
    return 0;
}

static bool write_nodes(const struct hm_configfield *row, const void *field, char *out, size_t size)
{
    const struct hm_set *nodes = field;
    char list[512];
    (void)row;
    snprintf(out, size, QUOTED, hm_set_format(nodes, list, sizeof(list)));
    return !hm_set_is_empty(nodes);
}

const struct hm_configfield_kind hm_field_choice = {read_choice, write_choice};
const struct hm_configfield_kind hm_field_yes_no = {read_yes_no, write_yes_no};
const struct hm_configfield_kind hm_field_name = {read_name, write_text};
const struct hm_configfield_kind hm_field_text = {read_text, write_text};
const struct hm_configfield_kind hm_field_folder = {read_folder, write_text};
const struct hm_configfield_kind hm_field_modes = {read_modes, write_modes};
const struct hm_configfield_kind hm_field_request = {read_request, write_text};
const struct hm_configfield_kind hm_field_migrate = {read_migrate, write_migrate};
const struct hm_configfield_kind hm_field_nodes = {read_nodes, write_nodes};
