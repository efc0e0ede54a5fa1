/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hybridmem-decode: finds memory operands in machine code for the migrator that has started it, whose socket is its
 * standard input (migrator/perf/operand.h). Users write the code, and a large library reads it. So this is a process of
 * its own, without the rights that the migrator keeps: they end as it is executed. It ends with the migrator.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "operands.h"

#define NAME "hybridmem-decode"

int main(void)
{
    struct hm_error error = {{0}};
    struct hm_operand_code code;
    struct hm_operands *operands = hm_operands_new(&error);
    if (!operands) {
        fprintf(stderr, NAME ": %s\n", error.text);
        return 1;
    }
    while (recv(STDIN_FILENO, &code, sizeof(code), 0) == (ssize_t)sizeof(code)) {
        struct hm_operand found = hm_operands_find(operands, &code);
        if (send(STDIN_FILENO, &found, sizeof(found), MSG_NOSIGNAL) != (ssize_t)sizeof(found))
            break;
    }
    hm_operands_free(operands);
    return 0;
}
