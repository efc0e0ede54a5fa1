/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes the files of DAMON in sysfs, each of which has a number or a word. */
#ifndef HM_MIGRATOR_DAMON_BROKER_ATTRIBUTE_H
#define HM_MIGRATOR_DAMON_BROKER_ATTRIBUTE_H

#include <stdint.h>

#include "base/error.h"

#define HM_DAMON_ROOT "/sys/kernel/mm/damon/admin/kdamonds"
#define HM_DAMON_ATTRIBUTES "contexts/0/monitoring_attrs" /* folder below that of a kdamond */

/* Writes a text to a file below HM_DAMON_ROOT. Returns 0, or -1 with a text; EBUSY: others keep DAMON's files busy. */
int hm_damon_attribute_write_text(const char *file, const char *text, struct hm_error *error);
/* Writes a number to a file of kdamond k. The file's name may contain numbers (printf style). Returns as above. */
int hm_damon_attribute_write(unsigned k, uint64_t value, struct hm_error *error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Reads a number from a file below HM_DAMON_ROOT. Returns 0 and the number, or -1. */
int hm_damon_attribute_read(const char *file, uint64_t *value);

#endif
