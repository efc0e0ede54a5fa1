/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hybridmem-decode: finds accesses to memory in machine code for the migrator that has started it, whose socket is its
 * standard input (migrator/perf/route.h). Users write the code, and a large library reads it. So this is a process of
 * its own, without the rights that the migrator keeps: they end as it is executed. It ends with the migrator.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "routes.h"

#define NAME "hybridmem-decode"

static int answer(struct hm_code *code, const struct hm_route_code *piece, size_t n)
{
    static uint8_t message[HM_ROUTE_BATCH * sizeof(struct hm_route)];
    size_t size = 0;
    for (size_t i = 0; i < n; i++) {
        struct hm_route route = hm_routes_find(code, &piece[i]);
        memcpy(message + size, &route, hm_route_size(&route));
        size += hm_route_size(&route);
    }
    return send(STDIN_FILENO, message, size, MSG_NOSIGNAL) == (ssize_t)size ? 0 : -1;
}

int main(void)
{
    struct hm_error error = {{0}};
    static struct hm_route_code piece[HM_ROUTE_BATCH];
    struct hm_code *code = hm_code_new(&error);
    if (!code) {
        fprintf(stderr, NAME ": %s\n", error.text);
        return 1;
    }
    for (ssize_t got; (got = recv(STDIN_FILENO, piece, sizeof(piece), 0)) > 0;)
        if (answer(code, piece, (size_t)got / sizeof(piece[0])) != 0)
            break;
    hm_code_free(code);
    return 0;
}
