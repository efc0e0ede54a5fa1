#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program under a filter that refuses mbind(2), as some container runtimes do."""

import ctypes
import os
import struct
import sys

MBIND = 237  # x86_64
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, EPERM = 0x7FFF0000, 0x00050001

# A BPF program that loads the number of the system call and tests it. A row is a code, two jumps (where the values are
# equal, and where not), and an operand.
program = b"".join(
    struct.pack("HBBI", *row)
    for row in ((LOAD, 0, 0, 0), (EQUAL, 0, 1, MBIND), (RETURN, 0, 0, EPERM), (RETURN, 0, 0, ALLOW))
)
filters = ctypes.create_string_buffer(program)
header = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 4, ctypes.addressof(filters)))
libc = ctypes.CDLL(None, use_errno=True)
for words in ((PR_SET_NO_NEW_PRIVS, 1, 0), (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(header))):
    if libc.prctl(*words, 0, 0) != 0:
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
os.execv(sys.argv[1], sys.argv[1:])
