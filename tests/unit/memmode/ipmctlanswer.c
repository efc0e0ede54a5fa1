/* SPDX-License-Identifier: Apache-2.0 */
#include "ipmctlanswer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

int answer_read(const char *name, struct hm_nvmxml *answer, struct hm_error *error)
{
    static char text[16384];
    char path[512];
    snprintf(path, sizeof(path), FIXTURES "/ipmctl/%s.txt", name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof(text), file);
    assert_true(length > 0 && length < sizeof(text));
    fclose(file);
    return hm_nvmxml_parse(text, length, answer, error);
}
