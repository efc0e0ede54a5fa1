/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the parser of hybridmem.conf: any bytes give a configuration, or an error text that begins with the file's
 * name, and do not change how libConfuse reads the next text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int parse(const void *bytes, size_t size, struct hm_config *config, struct hm_error *error)
{
    char *text = malloc(size + 1);
    if (!text)
        abort();
    memcpy(text, bytes, size);
    int status = hm_config_parse("f", text, size, config, error);
    free(text);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char good[] = "record = all\nuser \"a\" { modes = spill }\n";
    struct hm_config config;
    struct hm_error error = {""};
    if (parse(data, size, &config, &error) < 0 && strncmp(error.text, "f:", 2) != 0)
        abort();
    if (parse(good, sizeof(good) - 1, &config, &error) < 0 || config.record != HM_RECORD_ALL || config.n_rules != 1)
        abort();
    return 0;
}
