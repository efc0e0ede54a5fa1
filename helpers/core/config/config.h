/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hybridmem.conf, read with libConfuse (sections, lists, and errors with file and line; packaged in Debian and EPEL)
 * into a plain value. Unknown words are errors.
 */
#ifndef HM_CORE_CONFIG_CONFIG_H
#define HM_CORE_CONFIG_CONFIG_H

#include <sys/types.h>

#include "base/error.h"
#include "core/request/request.h"
#include "core/topology/topology.h"

#define HM_CONFIG_NAME "hybridmem.conf" /* of the file in texts that do not say its path */
#define HM_CONFIG_PATH_MAX 256
#define HM_CONFIG_RULES 64
#define HM_MODES_ANY (~0u)

enum hm_channels { HM_CHANNELS_SHARED, HM_CHANNELS_SEPARATE };
enum hm_record_who { HM_RECORD_REQUESTED, HM_RECORD_ALL };
enum hm_rule_kind { HM_RULE_USER, HM_RULE_GROUP, HM_RULE_ACCOUNT, HM_RULE_PARTITION };
enum hm_dax_fs { HM_DAX_FS_EXT4, HM_DAX_FS_XFS };
enum hm_dax_map { HM_DAX_MAP_DRAM, HM_DAX_MAP_PMEM };                     /* where a namespace's metadata map is */
enum hm_summary { HM_SUMMARY_NONE, HM_SUMMARY_ADMIN, HM_SUMMARY_SYSTEM }; /* the field in Slurm's database */
enum hm_slow_ram { HM_SLOW_RAM_NONE, HM_SLOW_RAM_MOVABLE, HM_SLOW_RAM_NORMAL }; /* its zone */
/* Bits: the programs that jobs' monitors may start. */
enum hm_meter_programs {
    HM_METER_NONE = 0,
    HM_METER_PAPI = 1,
    HM_METER_SLURM = 2,
    HM_METER_ALL = HM_METER_PAPI | HM_METER_SLURM
};
enum hm_log_level { HM_LOG_ERROR, HM_LOG_WARNING, HM_LOG_INFO, HM_LOG_DEBUG };

/* What a tier's energy is reckoned with, as hybridmem.conf says; 0: not said. */
struct hm_energy_model {
    double static_w; /* of the whole tier, whoever uses it and however much */
    double read_pj_bit, write_pj_bit;
};

struct hm_config_tier {
    char name[HM_NAME];
    int line; /* of the file, where its nodes stand, else its first word; 0: of no file */
    bool has_nodes;
    struct hm_set nodes;         /* empty: the tier found under this name or kind, with figures overridden */
    enum hm_kind kind;           /* HM_KIND_UNKNOWN: not said */
    uint64_t read_latency_ns;    /* 0: not said; likewise the next */
    uint64_t read_bandwidth_mbs; /* of the whole tier */
    uint64_t write_bandwidth_mbs;
    struct hm_energy_model energy; /* of reads and writes both are said, or neither */
};

/* The channels kind of a pair of tiers, by name or kind ("dram+cxl"). */
struct hm_config_channels {
    char fast[HM_NAME], slow[HM_NAME];
    int line; /* of the file; 0: of no file */
    enum hm_channels channels;
};

/* One of: user "alice" { modes = {...} }, group, account, partition (which also takes default_mode). */
struct hm_config_rule {
    enum hm_rule_kind kind;
    char name[64];
    bool has_modes;
    unsigned modes;                     /* bit n: the mode n is allowed */
    char default_mode[HM_REQUEST_TEXT]; /* "" none; partitions only */
    int default_line;                   /* of the file, where default_mode stands */
};

/* The site's defaults for the keys of migrate. */
struct hm_config_migrate {
    char text[HM_REQUEST_TEXT]; /* as written */
    struct hm_migrate_keys keys;
};

struct hm_config {
    char path[HM_CONFIG_PATH_MAX];       /* of the file that it was read from, for programs that are started; "" none */
    bool enabled;                        /* yes */
    enum hm_record_who record;           /* requested */
    char record_dir[HM_CONFIG_PATH_MAX]; /* /var/lib/hybridmem/records */
    char record_group[32];               /* hybridmem */
    char state_dir[HM_CONFIG_PATH_MAX];  /* /var/lib/hybridmem: pending records */
    char run_dir[HM_CONFIG_PATH_MAX];    /* /run/hybridmem: ledger, topology cache */
    char cluster[64];                    /* "": Slurm's */
    unsigned interval_ms;                /* 1000; of the monitor */
    double reserve_percent; /* 2.0: of the fast tier, kept free for the kernel where the slow tier is ZONE_MOVABLE */
    unsigned reap_grace_s;  /* 600: how long a dead job's ledger entry waits for its epilog */
    enum hm_log_level log_level;          /* info */
    unsigned default_modes;               /* `modes`: allowed to all, HM_MODES_ANY */
    struct hm_config_migrate migrate;     /* interval=10s,overhead=1% */
    enum hm_dax_fs fsdax_fs;              /* ext4 */
    enum hm_dax_map fsdax_map;            /* dram */
    unsigned fsdax_wipe_limit_s;          /* 0, none: how long prologs and epilogs wipe, in seconds */
    double keep_percent;                  /* 0: of each region, for file systems that users keep; 0: none can be kept */
    uint64_t keep_quota_bytes;            /* of each user on a node; 0: no other limit than that share */
    unsigned keep_age_s;                  /* one week */
    enum hm_slow_ram ram;                 /* none */
    bool resctrl;                         /* no: a monitoring group for each job takes one of the processor's ids */
    char resctrl_dir[HM_CONFIG_PATH_MAX]; /* /sys/fs/resctrl */
    enum hm_meter_programs meter_programs; /* none: PAPI and Slurm are not asked for each job */
    char spool_dir[HM_CONFIG_PATH_MAX];    /* /var/lib/hybridmem/spool: jobs that ended, for the collector */
    enum hm_summary summary_field;         /* none */
    uint64_t summary_rate;                 /* 120: jobs a minute that the collector asks Slurm's database about */
    unsigned collect_wait_s;               /* 300: how long it waits for records after a job's end */
    int n_tiers;
    struct hm_config_tier tier[HM_MAX_TIERS];
    int n_channels;
    struct hm_config_channels channels[HM_MAX_TIERS];
    int n_rules;
    struct hm_config_rule rule[HM_CONFIG_RULES];
};

/* The built-in values, as if the file were empty. */
void hm_config_defaults(struct hm_config *config);

/* Where the file is unless something else is said: <sysconfdir>/hybridmem/hybridmem.conf. */
const char *hm_config_path(void);

/*
 * Read `path`. A missing file gives the defaults (0) unless `required`. As root (euid 0) the file and every folder
 * above it must be root-owned and not writable by others, else EPERM. Returns 0, or -1 and a text "FILE:LINE: ...":
 * `config` then has the defaults. Never calls exit; leaves nothing allocated.
 */
int hm_config_read(const char *path, bool required, struct hm_config *config, struct hm_error *error);

/*
 * The same from memory: `text` (`length` bytes, room for one more; it is changed), `path` only for error texts. One
 * parse at a time in a process: libConfuse's scanner is global.
 */
int hm_config_parse(const char *path, char *text, size_t length, struct hm_config *config, struct hm_error *error);

/*
 * May this user (name and group names, `groups` NULL-terminated) use the request's mode? The user's rule decides, else
 * all rules of his groups, else the general `modes`; the rules of account and partition must allow it too. `off` is
 * always allowed. `account` and `partition` may be NULL: not checked. Returns 0, or -1 with EACCES and a text that
 * names the mode, the rule and the modes that are allowed. Pure.
 */
int hm_config_allows(const struct hm_config *config, const struct hm_request *request, const char *user,
                     const char *const *groups, const char *account, const char *partition, struct hm_error *error);

/* The words of fsdax_fs, fsdax_map, ram, meter_programs and summary_field. */
const char *hm_dax_fs_name(enum hm_dax_fs filesystem);
const char *hm_dax_map_name(enum hm_dax_map map);
const char *hm_slow_ram_name(enum hm_slow_ram ram);
const char *hm_meter_programs_name(enum hm_meter_programs programs);
const char *hm_summary_name(enum hm_summary summary);

/* What file systems that users keep may take together of a region of so many bytes. Pure. */
uint64_t hm_config_keep_share(const struct hm_config *config, uint64_t region_bytes);

/* The partition's default_mode, or NULL. */
const char *hm_config_default_mode(const struct hm_config *config, const char *partition);

/* Does a partition's own rule allow its default_mode? True where it has no default_mode, or no modes. Pure. */
bool hm_config_default_is_allowed(const struct hm_config_rule *rule);

#endif
