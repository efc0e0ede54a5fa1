/* SPDX-License-Identifier: Apache-2.0 */
/* Reads recorded answers of ipmctl (tests/fixtures/ipmctl). */
#ifndef IPMCTLANSWER_H
#define IPMCTLANSWER_H

#include "memmode/ipmctl/nvmxml.h"

/* Parse the answer FIXTURES/ipmctl/NAME.txt. The test fails where the file cannot be read. Returns as hm_nvmxml_parse.
 */
int answer_read(const char *name, struct hm_nvmxml *answer, struct hm_error *error);

#endif
