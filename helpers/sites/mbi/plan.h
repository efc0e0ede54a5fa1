/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan of a profile by bandwidth isolation (MBI; M. B. Olson and others, MemBrain, NAS 2018): runs of one program,
 * in each of which the memory of one group of its sites is alone in the slow tier, so that the tier's traffic is that
 * of the group. A repetition has two runs more: one with nothing of the program in the slow tier, whose traffic is
 * that of all else on the node, and one with the memory of no site there, such as stacks and small allocations. Pure.
 */
#ifndef HM_SITES_MBI_PLAN_H
#define HM_SITES_MBI_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sites/profile/profile.h"

#define HM_MBI_RUNS 1000       /* most runs of a plan: Slurm's MaxArraySize is 1001, unless a site changes it */
#define HM_MBI_REPETITIONS 20  /* most */
#define HM_MBI_WORDS 4096      /* most words of the program's command line */
#define HM_MBI_FILE (4u << 20) /* bytes; a longer plan is refused */

struct hm_mbi_group {
    size_t n;
    uint64_t *id; /* of the sites, ascending */
};

struct hm_mbi_plan {
    char *folder; /* where the program is started */
    size_t n_words;
    char **word;    /* the program and its arguments, and NULL */
    char *build_id; /* of the executable; NULL: it has none, as scripts do */
    unsigned repetitions;
    uint64_t least_bytes; /* from this size on, allocations are looked at for their site (sites/guide/table.h) */
    size_t n_groups;
    struct hm_mbi_group *group;
};

/* What has its memory in the slow tier in a run. */
enum hm_mbi_part { HM_MBI_NOTHING, HM_MBI_REST, HM_MBI_GROUP };

struct hm_mbi_run {
    unsigned repetition;
    enum hm_mbi_part part;
    size_t group; /* of HM_MBI_GROUP */
};

/*
 * Makes the groups, and sets the repetitions. Sites whose peak is at least this share (0..1) of the profile's are alone
 * in their group; smaller ones are put together up to that, and further where there would be too many runs. Sites
 * whose allocations are small are in a group only with arenas, and only from that share on. Returns 0, or -1 with a
 * text that begins with `path`: ENODATA where no site can be placed; E2BIG; ENOMEM.
 */
int hm_mbi_plan_make(const struct hm_profile *profile, const char *path, double alone, unsigned repetitions,
                     bool has_arenas, struct hm_mbi_plan *plan, struct hm_error *error);

/* The number of runs. Their numbers are from 0 on. */
size_t hm_mbi_plan_runs(const struct hm_mbi_plan *plan);
struct hm_mbi_run hm_mbi_plan_run(const struct hm_mbi_plan *plan, size_t number);
/* The number of a run. `group` is that of HM_MBI_GROUP, else 0. */
size_t hm_mbi_plan_number(const struct hm_mbi_plan *plan, unsigned repetition, enum hm_mbi_part part, size_t group);

bool hm_mbi_group_has(const struct hm_mbi_group *group, uint64_t id);

/* Frees what it has, and empties it. */
void hm_mbi_plan_free(struct hm_mbi_plan *plan);

/* Reads a plan from its text. `path` is for error texts. Returns 0, or -1 (EBADMSG, ENOMEM) with an empty plan. */
int hm_mbi_plan_parse(const char *path, const char *text, size_t length, struct hm_mbi_plan *plan,
                      struct hm_error *error);
/* The plan as JSON. NULL: no memory. */
json_t *hm_mbi_plan_json(const struct hm_mbi_plan *plan);

#endif
