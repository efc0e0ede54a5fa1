/* SPDX-License-Identifier: Apache-2.0 */
/* Packets of SPE, byte by byte: what tests put together to records. */
#ifndef SPEBYTES_H
#define SPEBYTES_H

/* The 7 lower bytes of an address, and the byte above them. */
#define SEVEN(a)                                                                                                       \
    (unsigned char)(a), (unsigned char)((a) >> 8), (unsigned char)((a) >> 16), (unsigned char)((a) >> 24),             \
        (unsigned char)((a) >> 32), (unsigned char)((a) >> 40), (unsigned char)((a) >> 48)
#define PC_USER 0xb0, SEVEN(0xaaaae4a9b600ULL), 0x80          /* exception level 0, not secure */
#define PC_KERNEL 0xb0, SEVEN(0xffc0c2868c8b5cULL), 0xc0      /* level 2 */
#define DATA(address) 0xb2, SEVEN(address##ULL), 0x00         /* without a tag */
#define TAGGED(address, tag) 0xb2, SEVEN(address##ULL), (tag) /* the top byte is the program's */
#define PHYSICAL 0xb3, SEVEN(0x8032c955a43ULL), 0x80
#define LOAD 0x49, 0x00
#define STORE 0x49, 0x01
#define OPERATION(bits) 0x49, (bits)
#define BRANCH 0x4a, 0x01
#define OTHER_OPERATION 0x48, 0x00
#define EVENTS(low, high) 0x52, (low), (high)
#define RETIRED EVENTS(0x16, 0x00) /* retired, with an access of the first level of cache, and of a TLB */
#define MISSED EVENTS(0x1e, 0x03)  /* and nothing found in first and last level */
#define LATENCY(cycles) 0x98, (unsigned char)(cycles), (unsigned char)((cycles) >> 8)
#define ISSUE 0x99, 0x04, 0x00
#define TRANSLATION 0x9a, 0x01, 0x00
#define SOURCE 0x43, 0x0e
#define CONTEXT 0x64, 0x78, 0x56, 0x34, 0x12
#define TIME 0x71, 0x6c, 0xf8, 0xa5, 0x83, 0x00, 0x0c, 0x00, 0x00
#define PADS 0x00, 0x00, 0x00, 0x00
#define END 0x01

#endif
