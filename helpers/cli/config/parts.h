/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of hybridmem-config. */
#ifndef HM_CLI_CONFIG_PARTS_H
#define HM_CLI_CONFIG_PARTS_H

#include "core/config/config.h"

/* Print the effective configuration. */
void hm_config_show(const struct hm_config *config);

/* The list that `hybridmem config check` prints, and how many of its lines ask for a change. */
struct hm_report {
    int n_changes;
};

/* "ok      TEXT" */
void hm_report_ok(struct hm_report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "note    TEXT": what may be meant, as on one of unlike nodes with one file. */
void hm_report_note(struct hm_report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "change  TEXT": what is wrong, and what to do. */
void hm_report_change(struct hm_report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Users, groups, folders and tiers of this node; `path` is the file's, for what is wrong at one of its lines. */
void hm_config_check_node(const struct hm_config *config, const char *path, struct hm_report *report);

/* Slurm's settings, by `scontrol` (NULL: found in the usual places; for root those are fixed folders, never PATH). */
void hm_config_check_slurm(const struct hm_config *config, const char *scontrol, struct hm_report *report);

/*
 * What summary_field wants of Slurm, by the `output` of scontrol show config: nothing where it is none. On slurmctld's
 * host the spool folder, too.
 */
void hm_config_check_summary(const struct hm_config *config, const char *output, struct hm_report *report);

/* plugstack.conf beside slurm.conf, whose path is given: does it load the plugin, and is the plugin there? */
void hm_config_check_plugstack(const char *slurm_conf, const char *plugin_dirs, struct hm_report *report);

#endif
