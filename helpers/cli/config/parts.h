/* SPDX-License-Identifier: Apache-2.0 */
/* What the source files of hybridmem-config share. */
#ifndef HM_CLI_CONFIG_PARTS_H
#define HM_CLI_CONFIG_PARTS_H

#include "core/config/config.h"

/* Prints the effective configuration. */
void hm_config_show(const struct hm_config *config);

/* The list that `hybridmem config check` prints; it counts the lines that ask for a change. */
struct hm_report {
    int n_changes;
};

/* Prints "ok      TEXT". */
void hm_report_ok(struct hm_report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));
/*
 * Prints "note    TEXT": what looks wrong but may be intended, for example where unlike nodes share a hybridmem.conf.
 */
void hm_report_note(struct hm_report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints "change  TEXT": what is wrong, and what to do. */
void hm_report_change(struct hm_report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Checks what hybridmem needs on this node, such as groups, folders and tiers. `path` is the configuration file's, for
 * messages about its lines.
 */
void hm_config_check_node(const struct hm_config *config, const char *path, struct hm_report *report);

/*
 * Checks the file that the word load names. `n_tiers` is the number of tiers on this node, 0 if it is not known. Does
 * nothing without the word.
 */
void hm_config_check_load(const struct hm_config *config, int n_tiers, struct hm_report *report);

/*
 * Checks Slurm's settings with `scontrol`. If `scontrol` is NULL, searches the usual places for it; for root these are
 * fixed folders, not PATH. `path` is the configuration file's.
 */
void hm_config_check_slurm(const struct hm_config *config, const char *path, const char *scontrol,
                           struct hm_report *report);

/*
 * Checks what summary_field needs of Slurm. Does nothing if summary_field is none. `output` is that of scontrol show
 * config. On slurmctld's host it checks the spool folder, too.
 */
void hm_config_check_summary(const struct hm_config *config, const char *output, struct hm_report *report);

/* Checks whether plugstack.conf loads the plugin, whether the plugin exists, and whether it has the configuration
 * `config_path`. `output` as above. */
void hm_config_check_plugstack(const char *output, const char *config_path, struct hm_report *report);

#endif
