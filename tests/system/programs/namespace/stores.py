# SPDX-License-Identifier: Apache-2.0
"""A job's program: stores a marker with the socket's number into a file on each DAX file system of the job. It only
writes to mapped memory. The mapping has MAP_SYNC, which the kernel refuses for files that go through the page cache.

    stores.py MARKER
"""

import mmap
import os
import sys

MAP_SHARED_VALIDATE, MAP_SYNC = 0x3, 0x80000
SIZE = 1 << 20

for word in os.environ["HYBRIDMEM_FSDAX_DIRS"].split(":"):
    socket, _, folder = word.partition("=")
    file = os.open(f"{folder}/stores", os.O_CREAT | os.O_RDWR, 0o600)
    os.ftruncate(file, SIZE)
    marker = f"{sys.argv[1]}{socket} ".encode()
    with mmap.mmap(file, SIZE, flags=MAP_SHARED_VALIDATE | MAP_SYNC) as memory:
        memory[: SIZE // len(marker) * len(marker)] = marker * (SIZE // len(marker))
    os.close(file)
