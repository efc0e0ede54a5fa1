# SPDX-License-Identifier: Apache-2.0
"""The administrator guide's table of memory configurations (Table 2 of Peng et al., MEMSYS 2019): all of them are
there, and for each row a test runs its option in the guest."""

import re
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
NUMA = "test_placement.py::test_pages_are_where_the_mode_says"
FILES = "test_fsdax.py::test_what_a_job_stores_is_in_the_regions_of_its_sockets"
CACHE = "test_sidecache.py::test_a_job_behind_a_cache_is_told_of_it_and_left_alone"
# By configuration: the option, and the test of tests/system that runs it.
ROWS = {
    "DRAM-local": ("--hybrid-mem=dram,socket=local", NUMA),
    "DRAM-remote": ("--hybrid-mem=dram,socket=remote", NUMA),
    "PMM-numa-local": ("--hybrid-mem=pmem,socket=local", NUMA),
    "PMM-numa-remote": ("--hybrid-mem=pmem,socket=remote", NUMA),
    "PMM-fsdax-local": ("--hybrid-mem=fsdax,size=64G,socket=local", FILES),
    "PMM-fsdax-remote": ("--hybrid-mem=fsdax,size=64G,socket=remote", FILES),
    "MemoryMode-local": ("--hybrid-mem=memory --mem-bind=local", CACHE),
    "MemoryMode-remote": ("--hybrid-mem=memory --mem-bind=map_mem:1", CACHE),
    "DRAM": ("--hybrid-mem=dram", NUMA),
    "PMM": ("--hybrid-mem=pmem", NUMA),
    "DRAM-PMM-interleave": ("--hybrid-mem=interleave", NUMA),
    "MemoryMode": ("--hybrid-mem=memory", CACHE),
}


def test_the_guide_has_each_configuration_with_the_option_that_a_test_runs():
    text = (TOP / "site-docs" / "admin-guide.md").read_text().partition("| configuration | node | option |")[2]
    table = text.partition("\n\n")[0]
    rows = re.findall(r"^\| ([\w-]+) \| [^|]+ \| `([^`]+)`", table, re.M)
    assert dict(rows) == {name: option for name, (option, _) in ROWS.items()}
    assert len(rows) == len(ROWS)
    for test in {test for _, test in ROWS.values()}:
        file, _, name = test.partition("::")
        assert f"def {name}(" in (TOP / "tests" / "system" / file).read_text()
