/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a plan (base/fields.h). */
#ifndef HM_CORE_PLAN_TABLE_H
#define HM_CORE_PLAN_TABLE_H

#include "base/fields.h"

extern const struct hm_field hm_plan_table[]; /* of struct hm_plan */

#endif
