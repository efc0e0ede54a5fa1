/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a plan's fields, for writing and reading it (base/fields.h). */
#ifndef HM_CORE_PLAN_TABLE_H
#define HM_CORE_PLAN_TABLE_H

#include "base/fields.h"

extern const struct hm_field hm_plan_table[]; /* of struct hm_plan */

#endif
