# SPDX-License-Identifier: Apache-2.0
"""A kernel that refuses perf events, as for `preexec_fn` of subprocess."""

import ctypes
import errno
import platform
import struct


def no_perf_events(number=errno.EPERM):
    """Has the kernel refuse perf_event_open with this errno, by a filter of system calls."""
    libc = ctypes.CDLL(None, use_errno=True)
    call = {"x86_64": 298, "aarch64": 241}[platform.machine()]
    code = [(0x20, 0, 0, 0), (0x15, 0, 1, call), (0x06, 0, 0, 0x50000 | number), (0x06, 0, 0, 0x7FFF0000)]
    filters = b"".join(struct.pack("HBBI", *line) for line in code)
    text = ctypes.create_string_buffer(filters)
    program = struct.pack("HP", len(code), ctypes.addressof(text))
    assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
    assert libc.prctl(22, 2, program, 0, 0) == 0  # PR_SET_SECCOMP
