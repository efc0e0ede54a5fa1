/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the readers of a Redfish service's answers: what is believed is short, printable where it is sent on, and
 * leads to nothing but paths of the same service. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "memmode/redfish/answers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_link(const char *link)
{
    if (strncmp(link, HM_REDFISH_ROOT, strlen(HM_REDFISH_ROOT)) != 0 || strlen(link) >= HM_REDFISH_LINK ||
        strpbrk(link, " \t\r\n?#\"\\") || strstr(link, "/../"))
        abort();
}

static void check_said(int result, const struct hm_error *error)
{
    if ((result == 0) != (error->text[0] == '\0'))
        abort();
}

static void check_change(const char *value)
{
    struct hm_redfish_settings settings;
    char *body = hm_redfish_write_change("Mode", value, true);
    /* What a service says in UTF-8 can be sent back to it. */
    if (!body || hm_redfish_read_settings(body, strlen(body), "Mode", &settings, NULL) != 0 ||
        strcmp(settings.value, value) != 0)
        abort();
    free(body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hm_error error[4] = {{{0}}};
    struct hm_redfish_system system;
    struct hm_redfish_bios bios;
    struct hm_redfish_settings settings;
    char link[HM_REDFISH_LINK], said[HM_REDFISH_SAID];
    const char *text = (const char *)data;
    int result[4] = {hm_redfish_read_systems(text, size, link, &error[0]),
                     hm_redfish_read_system(text, size, &system, &error[1]),
                     hm_redfish_read_bios(text, size, "Mode", &bios, &error[2]),
                     hm_redfish_read_settings(text, size, "Mode", &settings, &error[3])};
    for (int i = 0; i < 4; i++)
        check_said(result[i], &error[i]);
    if (result[0] == 0)
        check_link(link);
    if (result[1] == 0)
        check_link(system.bios);
    if (result[2] == 0) {
        check_link(bios.settings);
        check_change(bios.value);
    }
    if (result[3] == 0 && settings.etag[0] && !hm_redfish_is_etag(settings.etag))
        abort();
    if (strpbrk(hm_redfish_read_error(text, size, said), "\r\n"))
        abort();
    return 0;
}
