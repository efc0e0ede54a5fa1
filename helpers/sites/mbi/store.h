/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of a plan: plan.json, profile.json with the sites, job.sh, and run-NUMBER.json with what came of each
 * run. All of it may be on a file system that several nodes share: each run writes its own file. */
#ifndef HM_SITES_MBI_STORE_H
#define HM_SITES_MBI_STORE_H

#include <limits.h>

#include "plan.h"
#include "result.h"

#define HM_MBI_PROFILE "profile.json"

struct hm_mbi_store {
    char path[PATH_MAX]; /* absolute */
    struct hm_mbi_plan plan;
    struct hm_mbi_result *result; /* by run */
    bool *is_there;               /* has the run a result? */
};

/* The path of a file of the folder. Returns 0, or -1 with a text. */
int hm_mbi_store_path(const struct hm_mbi_store *store, const char *name, char path[PATH_MAX], struct hm_error *error);

/* Reads the plan. hm_mbi_store_close has to follow, whatever is returned. Returns 0, or -1 with a text. */
int hm_mbi_store_open(struct hm_mbi_store *store, const char *path, struct hm_error *error);
/* Reads the results of all runs. A file that is none counts as a run that failed. Returns 0, or -1 with a text. */
int hm_mbi_store_results(struct hm_mbi_store *store, struct hm_error *error);
void hm_mbi_store_close(struct hm_mbi_store *store);

/* Is there a result, and has the run not failed? */
bool hm_mbi_store_is_done(const struct hm_mbi_store *store, size_t number);

/* Writes a file of the folder, whole or not at all. NULL: no memory. Frees `json`. Returns 0, or -1 with a text. */
int hm_mbi_store_write(const struct hm_mbi_store *store, const char *name, json_t *json, struct hm_error *error);
/* The same for the result of a run. */
int hm_mbi_store_put(const struct hm_mbi_store *store, size_t number, const struct hm_mbi_result *result,
                     struct hm_error *error);

/* Writes job.sh, the job array with all runs. Returns 0, or -1 with a text. */
int hm_mbi_store_script(const struct hm_mbi_store *store, struct hm_error *error);

#endif
