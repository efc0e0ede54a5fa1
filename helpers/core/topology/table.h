/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a topology's fields, for writing and reading it (base/fields.h). */
#ifndef HM_CORE_TOPOLOGY_TABLE_H
#define HM_CORE_TOPOLOGY_TABLE_H

#include "base/fields.h"

extern const struct hm_field hm_topology_table[]; /* of struct hm_topology */

#endif
