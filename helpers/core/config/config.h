/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration, hybridmem.conf, as a plain value. It is read with libConfuse, which has sections, lists, and
 * errors with file and line, and is packaged in Debian and EPEL. Unknown words are errors. */
#ifndef HM_CORE_CONFIG_CONFIG_H
#define HM_CORE_CONFIG_CONFIG_H

#include <sys/types.h>

#include "base/error.h"
#include "core/request/request.h"
#include "core/topology/topology.h"

#define HM_CONFIG_NAME "hybridmem.conf" /* name of the file in texts that do not give its path */
#define HM_CONFIG_PATH_MAX 256
#define HM_CONFIG_RULES 64
#define HM_CONFIG_BOARDS 16
#define HM_CONFIG_VALUE 64 /* bytes of a board's name or word */
#define HM_MODES_ANY (~0u)

enum hm_channels { HM_CHANNELS_SHARED, HM_CHANNELS_SEPARATE };
enum hm_record_who { HM_RECORD_REQUESTED, HM_RECORD_ALL };
enum hm_rule_kind { HM_RULE_USER, HM_RULE_GROUP, HM_RULE_ACCOUNT, HM_RULE_PARTITION, HM_RULE_QOS };
enum hm_dax_fs { HM_DAX_FS_EXT4, HM_DAX_FS_XFS };
enum hm_dax_map { HM_DAX_MAP_DRAM, HM_DAX_MAP_PMEM }; /* where the kernel keeps a namespace's page metadata */
/* the field of Slurm's database that gets the summary of a job */
enum hm_summary { HM_SUMMARY_NONE, HM_SUMMARY_ADMIN, HM_SUMMARY_SYSTEM };
/* the zone that slow memory is brought online in */
enum hm_slow_ram { HM_SLOW_RAM_NONE, HM_SLOW_RAM_MOVABLE, HM_SLOW_RAM_NORMAL };
/* how the migrators of several jobs on a node split the fast tier */
enum hm_fair_share { HM_FAIR_SHARE_EQUAL, HM_FAIR_SHARE_CORES, HM_FAIR_SHARE_NONE };
/* The helper programs that jobs' monitors may start, as bits. */
enum hm_meter_programs {
    HM_METER_NONE = 0,
    HM_METER_PAPI = 1,
    HM_METER_SLURM = 2,
    HM_METER_ALL = HM_METER_PAPI | HM_METER_SLURM
};
enum hm_log_level { HM_LOG_ERROR, HM_LOG_WARNING, HM_LOG_INFO, HM_LOG_DEBUG };

/* The energy model of a tier, from hybridmem.conf; 0: not given. */
struct hm_energy_model {
    double static_w; /* power of the whole tier, independent of its use */
    double read_pj_bit, write_pj_bit;
};

struct hm_config_tier {
    char name[HM_NAME];
    int line; /* the file's line with the tier's `nodes`, else with its first word; 0: not from a file */
    bool has_nodes;
    struct hm_set nodes;         /* empty: the section overrides figures of the tier with this name or kind */
    enum hm_kind kind;           /* HM_KIND_UNKNOWN: not given */
    uint64_t read_latency_ns;    /* 0: not given, as for the next two */
    uint64_t read_bandwidth_mbs; /* of all nodes of the tier together */
    uint64_t write_bandwidth_mbs;
    struct hm_energy_model energy; /* reads and writes: both are given, or neither */
};

/* Whether two tiers, given by name or kind ("dram+cxl"), share memory channels. */
struct hm_config_channels {
    char fast[HM_NAME], slow[HM_NAME];
    int line; /* line in the file; 0: not from a file */
    enum hm_channels channels;
};

/* A rule: user "alice" { modes = {...} }, or the same for a group, account or partition (which may also have
 * default_mode). An account, a partition and a QOS may have a weight; a QOS has nothing else. */
struct hm_config_rule {
    enum hm_rule_kind kind;
    char name[64];
    bool has_modes;
    unsigned modes;                     /* bit n: mode n is allowed */
    char default_mode[HM_REQUEST_TEXT]; /* "": none; for partitions only */
    int default_line;                   /* line of default_mode in the file */
    uint64_t weight;                    /* for the split of the fast tier; 0: not given */
};

/* The board's Redfish service, which switches the memory's mode. */
struct hm_config_redfish {
    char url[HM_CONFIG_PATH_MAX]; /* "https://HOST"; %h in it is this host's name; "": ipmctl switches the mode */
    char system[HM_CONFIG_VALUE]; /* id below /redfish/v1/Systems; "": the only one */
    char credentials[HM_CONFIG_PATH_MAX]; /* file with the user's name and the password */
    char ca[HM_CONFIG_PATH_MAX];          /* file of certificates to believe; "": those that the system believes */
    bool verify;                          /* yes; is the service's certificate checked? */
    unsigned timeout_s;                   /* 30; for one answer */
};

/* Which attribute of a board's BIOS switches the mode. */
struct hm_config_board {
    char name[HM_CONFIG_VALUE];
    char manufacturer[HM_CONFIG_VALUE]; /* as the service gives it */
    char model[HM_CONFIG_VALUE];        /* a pattern of fnmatch(3); "": any */
    char attribute[HM_CONFIG_VALUE], flat[HM_CONFIG_VALUE], cache[HM_CONFIG_VALUE];
    char mixed[HM_CONFIG_VALUE]; /* "": nodes are not asked for that */
};

/* The site's defaults for the keys of the migrator (the word `migrate`). */
struct hm_config_migrate {
    char text[HM_REQUEST_TEXT]; /* as written in the file */
    struct hm_migrate_keys keys;
};

/* A value at the beginning of a comment is the built-in one. */
struct hm_config {
    char path[HM_CONFIG_PATH_MAX];       /* file that was read, to pass on to other programs; "": none */
    bool enabled;                        /* yes */
    enum hm_record_who record;           /* requested */
    char record_dir[HM_CONFIG_PATH_MAX]; /* /var/lib/hybridmem/records; "": not known (job/store/store.h) */
    char record_group[32];               /* hybridmem */
    char state_dir[HM_CONFIG_PATH_MAX];  /* /var/lib/hybridmem: pending records */
    char run_dir[HM_CONFIG_PATH_MAX];    /* /run/hybridmem: ledger, topology cache */
    char cluster[64];                    /* "": Slurm's name of the cluster */
    unsigned interval_ms;                /* 1000; between two readings of the monitor */
    double reserve_percent;      /* 2.0: share of the fast tier that stays free for the kernel, where the slow tier is
                                    ZONE_MOVABLE */
    unsigned reap_grace_s;       /* 600: how long a dead job's ledger entry waits for its epilog */
    enum hm_log_level log_level; /* info */
    unsigned default_modes;      /* HM_MODES_ANY: modes that everybody may use (the word `modes`) */
    struct hm_config_migrate migrate; /* interval=10s,overhead=1% */
    enum hm_fair_share fair_share;    /* equal */
    bool lend_samples; /* no; the broker opens events of the CPU's clock for steps whose users may open none */
    char profile_dir[HM_CONFIG_PATH_MAX]; /* "": profiles by allocation site that the site shares; only read */
    char load[HM_CONFIG_PATH_MAX];        /* "": file of the tiers' latencies by their traffic (core/load/text.h) */
    enum hm_dax_fs fsdax_fs;              /* ext4 */
    enum hm_dax_map fsdax_map;            /* dram */
    bool fsdax_trust;                     /* no; the users of fsdax trust each other */
    unsigned fsdax_wipe_limit_s;          /* 0 (no limit): longest that a prolog or epilog may wipe */
    double keep_percent;       /* 0: share of each region for file systems that users keep; 0: users cannot keep any */
    uint64_t keep_quota_bytes; /* limit for each user on a node; 0: keep_percent is the only limit */
    unsigned keep_age_s;       /* one week: how long kept file systems stay after they were made */
    enum hm_slow_ram ram;      /* none */
    bool resctrl;              /* no; a monitoring group for each job uses up one of the processor's ids */
    char resctrl_dir[HM_CONFIG_PATH_MAX];  /* /sys/fs/resctrl */
    enum hm_meter_programs meter_programs; /* none: jobs' monitors do not start the programs for PAPI and Slurm */
    char spool_dir[HM_CONFIG_PATH_MAX]; /* /var/lib/hybridmem/spool: one file for each ended job, for the collector */
    enum hm_summary summary_field;      /* none */
    uint64_t summary_rate;              /* 120: most jobs per minute that the collector looks up in Slurm's database */
    unsigned collect_wait_s;            /* 300: how long the collector waits for records after a job's end */
    char reboot_program[HM_CONFIG_PATH_MAX]; /* "": systemctl reboot */
    double memmode_mixed_percent; /* 0: share of PMem modules that is memory on a node that is asked for memmode=mixed;
                                     0: no node is */
    unsigned memmode_least_s;     /* 0: for how long after a boot a node keeps its memory's mode */
    int n_tiers;
    struct hm_config_tier tier[HM_MAX_TIERS];
    int n_channels;
    struct hm_config_channels channels[HM_MAX_TIERS];
    struct hm_config_redfish redfish;
    int n_boards;
    struct hm_config_board board[HM_CONFIG_BOARDS];
    int n_rules;
    struct hm_config_rule rule[HM_CONFIG_RULES];
};

/* The built-in values, as if the file were empty. */
void hm_config_defaults(struct hm_config *config);

/* The default path of the file: <sysconfdir>/hybridmem/hybridmem.conf. */
const char *hm_config_path(void);

/*
 * Read the file `path`. A missing file gives the defaults (and 0) unless `required`. For root (euid 0) the file and
 * every folder above it must belong to root and not be writable by others, else EPERM. Returns 0, or -1 with a text,
 * "FILE:LINE: ..." for an error in a line; `config` then has the defaults. Never calls exit; leaves nothing allocated.
 */
int hm_config_read(const char *path, bool required, struct hm_config *config, struct hm_error *error);

/* Parse a configuration in memory: `text` has `length` bytes and room for one more; it is changed. `path` is only for
 * error texts. Only one parse at a time in a process, as libConfuse's scanner is global. */
int hm_config_parse(const char *path, char *text, size_t length, struct hm_config *config, struct hm_error *error);

/*
 * May this user use the request's mode? `groups` are the user's group names, NULL-terminated. A rule for the user
 * decides; without one, all rules for the user's groups must allow the mode; without these, the general `modes` must.
 * Rules for the account and the partition must allow it, too (NULL: not checked). `off` is always allowed. Returns 0,
 * or -1 (EACCES) with a text that names the mode, the rule and the allowed modes. Pure.
 */
int hm_config_allows(const struct hm_config *config, const struct hm_request *request, const char *user,
                     const char *const *groups, const char *account, const char *partition, struct hm_error *error);

/* Find the next group whose rule would not allow its members the request. The search begins at rule *at (0 for the
 * first call), and moves *at past the rule that it finds. Returns the group's name, which belongs to `config`. Returns
 * NULL where there is no further one, for `off`, and where the user has a rule of their own. Pure. */
const char *hm_config_group_against(const struct hm_config *config, const struct hm_request *request, const char *user,
                                    int *at);

/* The words for values of fsdax_fs, fsdax_map, ram, meter_programs and summary_field. */
const char *hm_dax_fs_name(enum hm_dax_fs filesystem);
const char *hm_dax_map_name(enum hm_dax_map map);
const char *hm_slow_ram_name(enum hm_slow_ram ram);
const char *hm_meter_programs_name(enum hm_meter_programs programs);
const char *hm_summary_name(enum hm_summary summary);

/* How many bytes all kept file systems together may take in a region of `region_bytes` bytes. Pure. */
uint64_t hm_config_keep_share(const struct hm_config *config, uint64_t region_bytes);

/* Does any QOS have a weight? Only then has the node to know a job's QOS. */
bool hm_config_has_qos(const struct hm_config *config);
/* The weight of a job for the split of the fast tier: that of its QOS, else of its account, else of its partition, else
 * 1. A name is NULL or "" where it is not known. Pure. */
uint64_t hm_config_weight(const struct hm_config *config, const char *qos, const char *account, const char *partition);

/* The partition's default_mode, or NULL. */
const char *hm_config_default_mode(const struct hm_config *config, const char *partition);

/* Does a partition's own rule allow its default_mode? True where it has no default_mode, or no modes. Pure. */
bool hm_config_default_is_allowed(const struct hm_config_rule *rule);

#endif
