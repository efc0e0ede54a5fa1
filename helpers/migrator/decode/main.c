/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hybridmem-decode: finds accesses to memory in machine code for the migrator that has started it, whose socket is its
 * standard input (migrator/perf/route.h). Users write the code, and a large library reads it. So this is a process of
 * its own, without the rights that the migrator keeps: they end as it is executed. It ends with the migrator.
 */
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "routes.h"

#define NAME "hybridmem-decode"

int main(void)
{
    struct hm_error error = {{0}};
    struct hm_route_code piece;
    struct hm_code *code = hm_code_new(&error);
    if (!code) {
        fprintf(stderr, NAME ": %s\n", error.text);
        return 1;
    }
    while (recv(STDIN_FILENO, &piece, sizeof(piece), 0) == (ssize_t)sizeof(piece)) {
        struct hm_route route = hm_routes_find(code, &piece);
        size_t size = hm_route_size(&route);
        if (send(STDIN_FILENO, &route, size, MSG_NOSIGNAL) != (ssize_t)size)
            break;
    }
    hm_code_free(code);
    return 0;
}
