/* SPDX-License-Identifier: Apache-2.0 */
/* A site's state and record folders in the scratch folder, made anew for each test, and checks of their contents. */
#ifndef STOREFIXTURE_H
#define STOREFIXTURE_H

#include <stdint.h>

#include "core/config/config.h"
#include "job/store/store.h"

#define DAY "2025-03-01"
#define END (INT64_C(1740873599) * 1000000000) /* 2025-03-01T23:59:59Z */

extern struct hm_config config;
extern struct hm_store_key key; /* of job 42; its user is the one who runs this test, or 12345 where that is root */

/* What the store tells for the log: how many lines, and the last one. */
extern int n_told;
extern char told[];
void note_told(const char *line);

/* The state folder and the record folder are beside each other; pending/ does not exist yet. */
int store_set_up(void **state);
int store_tear_down(void **state);

/* The names in the functions below are relative to the folder that contains both. */
char *path_of(const char *name);
void assert_mode(const char *name, mode_t mode, uid_t uid);
void assert_text(const char *name, const char *wanted);
void put_file(const char *name, const char *text);
/* Number of entries whose names do not begin with a dot. */
int count_in(const char *name);

#endif
