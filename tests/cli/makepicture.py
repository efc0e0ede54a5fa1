#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the picture of the administrator guide: a month of made-up jobs in `hybridmem report --html`.

usage: HYBRIDMEM_PREFIX=DIR tests/cli/makepicture.py site-docs/images/report.png"""

import random
import sys
import tempfile
from pathlib import Path

from browser import Browser, Tab
from installed import helper
from makerecords import GIB, record, tier, write

ACCOUNTS = {"alice": "physics", "bob": "chemistry", "carol": "physics", "dave": "climate", "erin": "climate"}
MODES = ("spill", "spill", "fast", "interleave", "migrate", "isolate", "slow")
FAST, SLOW = 192 * GIB, 1536 * GIB


def write_month(folder):
    """Writes the same jobs every time."""
    choose = random.Random(2)
    for job in range(300):
        user, mode = choose.choice(list(ACCOUNTS)), choose.choice(MODES)
        size = int(choose.uniform(0.1, 1.6) * FAST)
        fast = 0 if mode == "slow" else min(size, int(0.95 * FAST))
        slow = 0 if mode == "fast" else size - fast
        hours = choose.choice((0.5, 1, 2, 4, 8))
        tiers = [
            tier("dram", [0, 1], fast, int(fast * 0.8), 0, FAST),
            tier("pmem", [2, 3], slow, int(slow * 0.7), 0, SLOW),
        ]
        joules = {"package_j": hours * 3600 * choose.uniform(300, 450), "memory_j": None, "source": "powercap"}
        made = record(
            1000 + job,
            mode=mode,
            user=user,
            account=ACCOUNTS[user],
            node=f"n{job % 8 + 1}",
            end=f"2026-10-{job * 31 // 300 + 1:02}T{job % 24:02}:00:00.000Z",
            elapsed_s=hours * 3600,
            exit_code=choose.choice((0,) * 12 + (1,)),
            energy=joules,
        )
        made["memory"].update(peak_bytes=fast + slow, tiers=tiers)
        write(folder, made)


def main(picture):
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "report.html")
        write_month(Path(folder, "records"))
        helper("hybridmem-report", "--records", Path(folder, "records"), "--html", page)
        browser = Browser()
        try:
            tab = Tab(browser, width=1120, height=1250).open(page)
            # The table of days is long; a few rows are enough for a picture.
            tab.evaluate("document.querySelectorAll('#tiers tbody tr').forEach((row, i) => row.hidden = i >= 4)")
            Path(picture).write_bytes(tab.picture())
        finally:
            browser.close()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
