/* SPDX-License-Identifier: Apache-2.0 */
/* Asks a board's Redfish service for the attribute that switches the memory's mode, and changes it. */
#ifndef HM_MEMMODE_REDFISH_TALK_H
#define HM_MEMMODE_REDFISH_TALK_H

#include "core/config/config.h"
#include "http.h"

struct hm_redfish_talk {
    struct hm_http_service service;
    char system[HM_CONFIG_VALUE]; /* "": the only one */
    const struct hm_config_board *boards;
    int n_boards;
    /* What was found. */
    const struct hm_config_board *board;
    struct hm_redfish_bios bios;
    struct hm_redfish_settings settings;
};

/* Find the system, its board among the configured ones, and the attribute, now and after the next boot. Returns 0, or
 * -1 with a text: ENODEV where no section is for this board. */
int hm_redfish_talk_read(struct hm_redfish_talk *talk, struct hm_error *error);

/* Have the attribute get this value at the next boot. hm_redfish_talk_read has succeeded before. Returns 0 where the
 * service says that it has taken the change, or -1 with a text; what counts is what is read afterwards. */
int hm_redfish_talk_change(struct hm_redfish_talk *talk, const char *value, struct hm_error *error);

#endif
