/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the making of routes, and the following of them. The input is an address, the place in the code, the thread's
 * registers, and bytes: they are taken for code, for the steps of a route that a decoder could answer with, and for a
 * message of it. */
#include <stdlib.h>
#include <string.h>

#include "migrator/decode/routes.h"

struct input {
    uint64_t address;
    uint64_t before; /* bytes of the code before the place */
    uint64_t reg[HM_ROUTE_REGS];
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct hm_code *code;
    struct input input = {0};
    struct hm_route_code piece = {0};
    struct hm_route given = {0};
    uint64_t address;
    size_t head = size < sizeof(input) ? size : sizeof(input), rest = size - head;
    memcpy(&input, data, head);
    piece.before = rest ? (uint16_t)(input.before % rest) : 0;
    if (piece.before > HM_ROUTE_BEFORE)
        piece.before = HM_ROUTE_BEFORE;
    piece.after = (uint16_t)(rest - piece.before < HM_ROUTE_AFTER ? rest - piece.before : HM_ROUTE_AFTER);
    memcpy(piece.byte, data + head, (size_t)piece.before + piece.after);
    given.n = (uint32_t)(rest / sizeof(given.step[0]) < HM_ROUTE_STEPS ? rest / sizeof(given.step[0]) : HM_ROUTE_STEPS);
    memcpy(given.step, data + head, given.n * sizeof(given.step[0]));
    if (!code)
        code = hm_code_new(NULL);
    if (!code)
        abort();
    struct hm_route route = hm_routes_find(code, &piece);
    if (!hm_route_is_sound(&route, hm_route_size(&route)))
        abort();
    hm_route_follow(&route, input.address, input.reg, &address);
    if (hm_route_is_sound(&given, hm_route_size(&given)))
        hm_route_follow(&given, input.address, input.reg, &address);
    struct hm_route got[3];
    if (hm_route_unpack(data + head, rest, got, 3)) {
        if (hm_route_size(&got[0]) + hm_route_size(&got[1]) + hm_route_size(&got[2]) != rest)
            abort();
        for (int i = 0; i < 3; i++)
            hm_route_follow(&got[i], input.address, input.reg, &address);
    }
    return 0;
}
