# SPDX-License-Identifier: Apache-2.0
"""A job that stores a marker, and the socket's number, into a file on each of its DAX file systems: by instructions
alone, in a mapping that only a file without page cache can have.

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
