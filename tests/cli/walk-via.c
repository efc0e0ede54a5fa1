/* SPDX-License-Identifier: Apache-2.0 */
/* A library of walk-probe.cc: a function of a compiler. */
#include <stddef.h>
#include <stdint.h>

void via(void (*call)(void), uintptr_t filling)
{
    volatile uintptr_t frame[100];
    for (size_t i = 0; i < 100; i++)
        frame[i] = filling;
    call();
    frame[0] = frame[1];
}
