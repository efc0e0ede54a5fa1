/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the components and events of PAPI, for hybridmem-papi --list. */
#ifndef HM_PAPI_LIST_H
#define HM_PAPI_LIST_H

#include "library.h"

/* Print a line for each component and each event, for people. */
void hm_papi_list_text(const struct hm_papi_library *library);
/* Print one JSON object. Returns 0, or -1 where it could not be written. */
int hm_papi_list_json(const struct hm_papi_library *library);

#endif
