/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stand-ins for tests of wipes: a file for the block device, and a clock that the test sets. A test program must link
 * with --wrap for open, ioctl and clock_gettime, and define filedevice_zero.
 */
#ifndef FILEDEVICE_H
#define FILEDEVICE_H

#include <stdint.h>
#include <time.h>

#define MIB (UINT64_C(1) << 20)

extern time_t now_s, seconds_each; /* seconds_each passes at each look at the clock */

extern int open_fails_by; /* errno with which the next open fails; 0: it succeeds */

/* Defined by the test: what the device does when it is to zero this range. Returns 0, or -1 with errno. */
int filedevice_zero(int fd, uint64_t start, uint64_t bytes);

int __real_open(const char *path, int flags, ...);

#endif
