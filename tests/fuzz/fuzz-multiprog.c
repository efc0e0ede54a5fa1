/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of the configuration of srun --multi-prog; the first byte is the task's number. A program that was
 * found is one name of one line, and is not changed by what comes after the end of its line. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "inputtext.h"
#include "slurm/multiprog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char program[32], again[32];
    if (size == 0)
        return 0;
    char *text = input_text(data + 1, size - 1), *more = malloc(size + 16);
    if (text && more && hm_multiprog_find(text, data[0], program, sizeof(program)) == 0) {
        if (!program[0] || strlen(program) >= sizeof(program) || strchr(program, '\n'))
            abort();
        size_t length = strlen(text);
        memcpy(more, text, length);
        memcpy(more + length, "\n* other", sizeof("\n* other"));
        bool is_whole = length > 0 && text[length - 1] != '\\';
        if (is_whole && (hm_multiprog_find(more, data[0], again, sizeof(again)) != 0 || strcmp(program, again) != 0))
            abort();
    }
    free(text);
    free(more);
    return 0;
}
