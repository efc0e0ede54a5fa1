/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the text of --hybrid-mem: any bytes give a request, or one clean error line. */
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/request/request.h"
#include "inputtext.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hm_request request, again;
    struct hm_migrate_keys keys;
    struct hm_error error = {""};
    char *text = input_text(data, size);
    if (!text)
        return 0;
    if (hm_request_parse(text, &request, &error) == 0) {
        if (strcmp(request.text, text) != 0 || hm_request_parse(request.text, &again, NULL) < 0)
            abort();
        for (const char *byte = request.input; *byte; byte++) /* a word of commands and tables */
            if (!isalnum((unsigned char)*byte) && (byte == request.input || !strchr(".-_", *byte)))
                abort();
    } else if (strncmp(error.text, "--hybrid-mem=", 13) != 0) {
        abort();
    }
    /* For the mode migrate, the configuration accepts the same keys as the option, except for socket. */
    if (strncmp(text, "migrate,", 8) == 0 && request.socket == HM_SOCKET_ALL && !strstr(text, "socket=") &&
        (hm_request_parse_keys(text + 8, &keys, &error) == 0) != (hm_request_parse(text, &again, NULL) == 0) &&
        strlen(text) < HM_REQUEST_TEXT)
        abort();
    for (const char *byte = error.text; *byte; byte++)
        if (*byte < 0x20 || *byte > 0x7e)
            abort();
    free(text);
    return 0;
}
