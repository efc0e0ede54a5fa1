/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a topology (base/fields.h). */
#ifndef HM_CORE_TOPOLOGY_TABLE_H
#define HM_CORE_TOPOLOGY_TABLE_H

#include "base/fields.h"

extern const struct hm_field hm_topology_table[]; /* of struct hm_topology */

#endif
