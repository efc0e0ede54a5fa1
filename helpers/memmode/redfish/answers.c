/* SPDX-License-Identifier: Apache-2.0 */
#include "answers.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define LINK_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._~-/%@:"

/* Parse an answer that has to be an object. Returns it, for json_decref, or NULL with a text. */
static json_t *load(const char *text, size_t length, struct hm_error *error)
{
    json_error_t why;
    json_t *answer = json_loadb(text, length, JSON_REJECT_DUPLICATES, &why);
    if (json_is_object(answer))
        return answer;
    if (answer)
        hm_fail(error, EBADMSG, "the answer is no JSON object");
    else
        hm_fail(error, EBADMSG, "the answer is no JSON: %.80s (line %d)", why.text, why.line);
    json_decref(answer);
    return NULL;
}

/* Copy a text of less than `size` bytes. `name` is for the error. */
static int take_text(const json_t *value, const char *name, char *out, size_t size, struct hm_error *error)
{
    if (!json_is_string(value))
        return hm_fail(error, EBADMSG, "%s is %s", name, value ? "not a text" : "missing");
    size_t length = json_string_length(value);
    if (length == 0 || length >= size || strlen(json_string_value(value)) != length)
        return hm_fail(error, EBADMSG, "%s is not a text of 1 to %zu characters", name, size - 1);
    memcpy(out, json_string_value(value), length + 1);
    return 0;
}

/* Copy a value of the attribute. */
static int take_value(const json_t *value, const char *name, char out[HM_MEMMODE_VALUE], struct hm_error *error)
{
    if (take_text(value, name, out, HM_MEMMODE_VALUE, error) != 0)
        return -1;
    return hm_redfish_is_value(out) ? 0 : hm_fail(error, EBADMSG, "%s is \"%s\", no printable ASCII", name, out);
}

/* Copy the link {"@odata.id": "/redfish/v1/..."}. */
static int take_link(const json_t *value, const char *name, char out[HM_REDFISH_LINK], struct hm_error *error)
{
    if (take_text(json_object_get(value, "@odata.id"), name, out, HM_REDFISH_LINK, error) != 0)
        return -1;
    if (strncmp(out, HM_REDFISH_ROOT, strlen(HM_REDFISH_ROOT)) == 0 && out[strspn(out, LINK_BYTES)] == '\0' &&
        !strstr(out, "/../"))
        return 0;
    return hm_fail(error, EBADMSG, "%s is \"%.80s\", no path below " HM_REDFISH_ROOT, name, out);
}

int hm_redfish_read_systems(const char *text, size_t length, char link[HM_REDFISH_LINK], struct hm_error *error)
{
    json_t *answer = load(text, length, error);
    if (!answer)
        return -1;
    const json_t *members = json_object_get(answer, "Members");
    size_t n = json_array_size(members);
    int result = n == 1 ? take_link(json_array_get(members, 0), "Members", link, error)
                        : hm_fail(error, ENODEV, "there are %zu systems: name one with the word system", n);
    json_decref(answer);
    return result;
}

int hm_redfish_read_system(const char *text, size_t length, struct hm_redfish_system *system, struct hm_error *error)
{
    *system = (struct hm_redfish_system){0};
    json_t *answer = load(text, length, error);
    if (!answer)
        return -1;
    const json_t *manufacturer = json_object_get(answer, "Manufacturer"), *model = json_object_get(answer, "Model");
    int result = take_link(json_object_get(answer, "Bios"), "Bios", system->bios, error);
    if (result == 0 && json_is_string(manufacturer))
        result = take_text(manufacturer, "Manufacturer", system->manufacturer, sizeof(system->manufacturer), error);
    if (result == 0 && json_is_string(model))
        result = take_text(model, "Model", system->model, sizeof(system->model), error);
    json_decref(answer);
    return result;
}

static bool has_word(const json_t *list, const char *word)
{
    size_t i;
    json_t *value;
    json_array_foreach(list, i,
                       value) if (json_is_string(value) && strcmp(json_string_value(value), word) == 0) return true;
    return false;
}

int hm_redfish_read_bios(const char *text, size_t length, const char *attribute, struct hm_redfish_bios *bios,
                         struct hm_error *error)
{
    int result;
    *bios = (struct hm_redfish_bios){0};
    json_t *answer = load(text, length, error);
    if (!answer)
        return -1;
    const json_t *value = json_object_get(json_object_get(answer, "Attributes"), attribute);
    const json_t *settings = json_object_get(answer, "@Redfish.Settings");
    if (!value)
        result = hm_fail(error, ENOENT, "the BIOS has no attribute %s", attribute);
    else
        result = take_value(value, attribute, bios->value, error);
    if (result == 0)
        result = take_link(json_object_get(settings, "SettingsObject"), "SettingsObject", bios->settings, error);
    bios->takes_on_reset = has_word(json_object_get(settings, "SupportedApplyTimes"), "OnReset");
    json_decref(answer);
    return result;
}

int hm_redfish_read_settings(const char *text, size_t length, const char *attribute,
                             struct hm_redfish_settings *settings, struct hm_error *error)
{
    int result = 0;
    *settings = (struct hm_redfish_settings){0};
    json_t *answer = load(text, length, error);
    if (!answer)
        return -1;
    const json_t *value = json_object_get(json_object_get(answer, "Attributes"), attribute);
    const json_t *etag = json_object_get(answer, "@odata.etag");
    if (value && !json_is_null(value))
        result = take_value(value, attribute, settings->value, error);
    if (result == 0 && etag)
        result = take_text(etag, "@odata.etag", settings->etag, sizeof(settings->etag), error);
    if (result == 0 && etag && !hm_redfish_is_etag(settings->etag))
        result = hm_fail(error, EBADMSG, "@odata.etag is \"%s\", which is no ETag", settings->etag);
    json_decref(answer);
    return result;
}

char *hm_redfish_read_error(const char *text, size_t length, char said[HM_REDFISH_SAID])
{
    json_t *answer = json_loadb(text, length, 0, NULL);
    const json_t *fault = json_object_get(answer, "error");
    const json_t *first = json_array_get(json_object_get(fault, "@Message.ExtendedInfo"), 0);
    const char *message = json_string_value(json_object_get(first, "Message"));
    if (!message)
        message = json_string_value(json_object_get(fault, "message"));
    snprintf(said, HM_REDFISH_SAID, "%s", message ? message : "");
    said[strcspn(said, "\r\n")] = '\0';
    json_decref(answer);
    return said;
}

char *hm_redfish_write_change(const char *attribute, const char *value, bool on_reset)
{
    json_t *change = json_pack("{s:{s:s}}", "Attributes", attribute, value);
    if (change && on_reset)
        json_object_set_new(
            change, "@Redfish.SettingsApplyTime",
            json_pack("{s:s, s:s}", "@odata.type", "#Settings.v1_0_0.PreferredApplyTime", "ApplyTime", "OnReset"));
    char *text = json_dumps(change, JSON_COMPACT);
    json_decref(change);
    return text;
}

bool hm_redfish_is_value(const char *value)
{
    size_t length = 0;
    while (value[length] >= ' ' && value[length] <= '~')
        length++;
    return length > 0 && value[length] == '\0';
}

bool hm_redfish_is_etag(const char *etag)
{
    size_t length = 0;
    while (etag[length] > ' ' && etag[length] <= '~')
        length++;
    return length > 0 && etag[length] == '\0';
}
