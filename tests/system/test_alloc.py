# SPDX-License-Identifier: Apache-2.0
"""Tests libhybridmem on a node with two tiers: each block is where its policy says, by hm_where and by numa_maps."""

import contextlib
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import slurm

SOURCE = Path(__file__).parent / "programs" / "alloc" / "placed.c"
PROGRAM = "/usr/local/bin/placed"
SPILL, SPLIT, FAST, SLOW, INTERLEAVE = range(1, 6)
READ, WRITE = 0, 1
MIB = slurm.MIB
# The guest's nodes by tier and socket (tests/testbed): DRAM 0 and 1, slow 2 and 3.
CONFIG_SEPARATE = 'channels "{fast}+{slow}" {{ kind = separate }}\n'


@pytest.fixture(scope="module", autouse=True)
def program():
    slurm.run(f"gcc -O1 -Wall -Werror -o {PROGRAM} {SOURCE} -lhybridmem")
    slurm.drop_caches()  # neither the library nor the kernel's first choice of a node counts the page cache as free


@contextlib.contextmanager
def placed(policy, mib, use=READ, block=0, share=0.0, touched=None, env=None, prefix=()):
    """Run programs/alloc/placed.c with these arguments. Gives the JSON object that the program prints about its
    memory."""
    words = [*prefix, PROGRAM, policy, use, mib, block, share, mib if touched is None else touched]
    process = subprocess.Popen(
        [str(word) for word in words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
    )
    try:
        line = process.stdout.readline()
        assert line, "placed has said nothing"
        yield json.loads(line)
    finally:
        process.communicate()
        assert process.returncode == 0


def mappings(pid):
    """Read numa_maps of a process: {address: (policy, {node: bytes})}, without the mappings of files."""
    found = {}
    for line in Path(f"/proc/{pid}/numa_maps").read_text().splitlines():
        if " file=" in line:
            continue
        address, policy, *_ = line.split()
        size = int(re.search(r"kernelpagesize_kB=(\d+)", line)[1]) << 10 if "kernelpagesize" in line else 0
        nodes = {int(node): int(count) * size for node, count in re.findall(r" N(\d+)=(\d+)", line)}
        found[int(address, 16)] = (policy, nodes)
    return found


def check(held, mib):
    """The runs follow each other without gaps; the kernel has one mapping for each run, with all of its pages."""
    kernel, offset = mappings(held["pid"]), 0
    for run in held["runs"]:
        assert run["offset"] == offset and run["folder"] == -1
        policy, nodes = kernel[held["address"] + offset]
        assert policy == f"prefer=static:{run['node']}", policy
        assert nodes == {run["node"]: run["bytes"]}, (run, nodes)
        offset += run["bytes"]
    assert offset == mib * MIB
    for node, (wanted, resident) in held["nodes"].items():
        assert wanted == resident == sum(run["bytes"] for run in held["runs"] if run["node"] == int(node))
    assert held["absent"] == 0


def by_block(held):
    return [run["node"] for run in held["runs"] for _ in range(run["bytes"] // held["block"])]


def shares(held):
    total = sum(wanted for wanted, _ in held["nodes"].values())
    return {int(node): wanted / total for node, (wanted, _) in held["nodes"].items()}


@pytest.mark.parametrize(
    ("policy", "use", "block", "nodes"),
    [
        (SPILL, READ, 0, [0, 1]),
        (FAST, READ, 64 << 10, [0, 1]),
        (SLOW, READ, 3 * MIB, [2, 3]),
        (INTERLEAVE, READ, 64 << 10, [0, 1, 2, 3]),
        (SPLIT, READ, 0, [2, 3]),
        (SPLIT, WRITE, 3 * MIB, [0, 1]),
    ],
)
def test_blocks_alternate_as_the_policy_says(policy, use, block, nodes):
    with placed(policy, 48, use, block) as held:
        check(held, 48)
        assert held["reason"] == ""
        assert held["block"] == {0: 2 * MIB, 64 << 10: 64 << 10, 3 * MIB: 4 * MIB}[block]
        blocks = by_block(held)
        start = nodes.index(blocks[0])
        assert blocks == [nodes[(start + i) % len(nodes)] for i in range(len(blocks))]


def test_the_cpu_that_touches_does_not_matter():
    for cpu in ("0", "1"):
        with placed(SPILL, 32, prefix=("taskset", "-c", cpu)) as held:
            check(held, 32)
            assert by_block(held) == [0, 1] * 8


def test_spill_goes_on_in_the_slow_node_of_each_socket():
    slurm.drop_caches()
    free = slurm.settled_free((0, 1))
    mib = sum(free.values()) // MIB + 256
    with placed(SPILL, mib, block=4 * MIB) as held:
        assert held["reason"] == ""
        for socket in (0, 1):
            blocks = [node for i, node in enumerate(by_block(held)) if i % 2 == socket]
            fast = blocks.count(socket)
            assert blocks == [socket] * fast + [socket + 2] * (len(blocks) - fast)
            # The node is filled except the reserve (2 % of the node) and what others have taken since.
            assert 0.8 * free[socket] <= fast * 4 * MIB <= free[socket]
        # Where the kernel's own needs were in the way, the pages are on the slow node of the same socket.
        for socket in (0, 1):
            resident = {int(node): there for node, (_, there) in held["nodes"].items()}
            wanted = {int(node): planned for node, (planned, _) in held["nodes"].items()}
            both = resident[socket] + resident[socket + 2]
            assert both >= 0.98 * (wanted[socket] + wanted[socket + 2]), (wanted, resident)


def test_a_share_of_its_own_needs_no_weights():
    weights = {path: path.read_text() for path in Path("/sys/kernel/mm/mempolicy/weighted_interleave").glob("node*")}
    with placed(SPILL, 128, block=256 << 10, share=0.75) as held, placed(SPILL, 64, block=256 << 10, share=0.25) as two:
        for one, mib, share in ((held, 128, 0.75), (two, 64, 0.25)):
            check(one, mib)
            found = shares(one)
            assert abs(found[0] + found[1] - share) <= 0.01 and abs(found[0] - found[1]) <= 0.01
    assert {path: path.read_text() for path in weights} == weights


def test_separate_channels_share_by_bandwidth():
    fast, slow = json.loads(slurm.run("hybridmem tiers --json").stdout)["tiers"]
    share = fast["read_bandwidth_mbs"] / (fast["read_bandwidth_mbs"] + slow["read_bandwidth_mbs"])
    text = slurm.CONFIG.read_text() + CONFIG_SEPARATE.format(fast=fast["name"], slow=slow["name"])
    with slurm.configured(text), placed(SPILL, 128, block=256 << 10) as held:
        check(held, 128)
        found = shares(held)
        assert abs(found[0] + found[1] - share) <= 0.01, (found, share)


def test_in_a_job_it_obeys_the_cpuset_and_not_the_jobs_policy():
    """The job's own policy is slow, but the program asks libhybridmem for fast, and gets it. The library does not ask
    for nodes that a cpuset hides."""
    folder = slurm.folder_of("alice")
    script = f"{PROGRAM} {FAST} 0 32 0 0 32 < /dev/null > {folder}/said"
    job_id = slurm.sbatch("alice", script, "--hybrid-mem=slow")
    assert slurm.wait_job(job_id) == "COMPLETED"
    held = json.loads((folder / "said").read_text())
    assert set(by_block(held)) == {0, 1}
    assert {node: there for node, (_, there) in held["nodes"].items()} == {"0": 16 * MIB, "1": 16 * MIB}


@contextlib.contextmanager
def cpuset(mems):
    """Make a cgroup with these nodes, beside Slurm's cgroups. Gives the path of its cgroup.procs."""
    root = Path("/sys/fs/cgroup")
    folder = root / "alloc-test"
    (root / "cgroup.subtree_control").write_text("+cpuset")
    folder.mkdir()
    try:
        (folder / "cpuset.mems").write_text(mems)
        yield folder / "cgroup.procs"
    finally:
        folder.rmdir()


@pytest.mark.parametrize(
    ("mems", "policy", "nodes", "reason"),
    [
        ("2-3", FAST, {2, 3}, "no node of the fast tier can be used here"),
        ("0-1", SLOW, {0, 1}, "no node of the slow tier can be used here"),
        ("0,2", SPILL, {0}, ""),
    ],
)
def test_hidden_nodes_are_left_out(mems, policy, nodes, reason):
    with cpuset(mems) as procs:
        enter = ("sh", "-c", f'echo $$ > {procs}; exec "$@"', "-")
        with placed(policy, 16, prefix=enter) as held:
            check(held, 16)
            assert set(by_block(held)) == nodes
            assert held["reason"] == reason


@contextlib.contextmanager
def dax_folders(tmp_path):
    """Make an fsdax namespace and an ext4 file system with DAX on each NVDIMM. Gives the mount points."""
    made, folders = [], []
    try:
        for region in sorted(json.loads(slurm.run("ndctl list -R").stdout), key=lambda row: row["dev"]):
            text = slurm.run(f"ndctl create-namespace --region={region['dev']} --mode=fsdax --size=512M").stdout
            namespace = json.loads(text)
            made.append(namespace["dev"])
            folder = tmp_path / region["dev"]
            folder.mkdir()
            device = f"/dev/{namespace['blockdev']}"
            slurm.run(f"mkfs.ext4 -q -b 4096 -m 0 {device} && mount -o dax {device} {folder}")
            folders.append(folder)
        yield folders
    finally:
        for folder in folders:
            slurm.run(f"umount {folder}")
        for name in made:
            slurm.run(f"ndctl destroy-namespace --force {name}")


def used(folder):
    status = os.statvfs(folder)
    return (status.f_blocks - status.f_bfree) * status.f_frsize


def test_read_mostly_data_goes_over_the_fsdax_files(tmp_path):
    with dax_folders(tmp_path) as folders:
        assert len(folders) == 2
        env = {"HYBRIDMEM_FSDAX_DIRS": ":".join(map(str, folders))}
        before = [used(folder) for folder in folders]
        with placed(SPLIT, 128, READ, env=env) as held:
            assert held["reason"] == ""
            assert [run["folder"] for run in held["runs"]] == [0, 1] * 32
            assert held["nodes"] == {"-1": [128 * MIB, 0]} and held["absent"] == 0
            for folder, was in zip(folders, before):
                assert 64 * MIB <= used(folder) - was < 66 * MIB
            maps = Path(f"/proc/{held['pid']}/maps").read_text()
            for folder in folders:
                assert len(re.findall(rf"rw-s .* {re.escape(str(folder))}/#\d+ \(deleted\)", maps)) == 32
        assert [used(folder) for folder in folders] == before
        assert [list(folder.glob("[!l]*")) for folder in folders] == [[], []]
        with placed(SPLIT, 32, WRITE, env=env) as held:
            check(held, 32)
            assert set(by_block(held)) == {0, 1}
        # The block does not fit in the files: the rest is on the slow nodes.
        with placed(SPLIT, 1280, READ, env=env, touched=0) as held:
            assert "elsewhere" in held["reason"]
            assert {run["node"] for run in held["runs"]} == {-1, 2, 3}


def test_a_jobs_read_mostly_data_goes_over_its_file_systems():
    """The data that the program reads is in blocks over the files of both sockets; the data that it writes is on the
    fast nodes."""
    folder = slurm.folder_of("alice")
    words = {use: f"{PROGRAM} {SPLIT} {use} 64 0 0 64" for use in (READ, WRITE)}
    script = f"cd {folder}\n{words[READ]} < /dev/null > read\n{words[WRITE]} < /dev/null > written"
    job_id = slurm.sbatch("alice", script, "--hybrid-mem=fsdax,size=256M")
    assert slurm.wait_job(job_id) == "COMPLETED", slurm.output(job_id)
    read, written = (json.loads((folder / name).read_text()) for name in ("read", "written"))
    assert read["reason"] == written["reason"] == ""
    assert [(run["folder"], run["bytes"]) for run in read["runs"]] == [(0, 2 * MIB), (1, 2 * MIB)] * 16
    assert {run["folder"] for run in written["runs"]} == {-1} and set(by_block(written)) == {0, 1}


def test_a_folder_without_dax_is_not_used(tmp_path):
    with placed(SPLIT, 32, READ, env={"HYBRIDMEM_FSDAX_DIRS": str(tmp_path)}) as held:
        check(held, 32)
        assert set(by_block(held)) == {2, 3}
        assert "is not on a DAX file system" in held["reason"]


def test_more_than_all_nodes_have_free_is_given_as_malloc_gives_it():
    """Linux lets a process allocate as much as the machine's whole memory, but no more, and gives pages only when they
    are touched."""
    total = int(re.search(r"MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text())[1]) >> 10
    with placed(SPILL, total - 16, touched=8) as held:
        assert "the kernel will look for some" in held["reason"]
        assert sum(there for _, there in held["nodes"].values()) == 8 * MIB
        assert held["absent"] == (total - 24) * MIB


def test_a_filter_on_system_calls_costs_the_placement_only():
    """Container runtimes may refuse mbind. Here a seccomp filter refuses it, for a user in a user namespace."""
    with placed(
        SPILL, 16, prefix=("python3", Path(__file__).parent / "programs" / "alloc" / "without-mbind.py")
    ) as held:
        assert "the kernel does not bind memory" in held["reason"]
        assert held["block"] == 0 and held["runs"] == []
        assert sum(there for _, there in held["nodes"].values()) == 16 * MIB


@contextlib.contextmanager
def mappings_bounded(n):
    """Set vm.max_map_count: the most mappings that the kernel allows a process."""
    path = Path("/proc/sys/vm/max_map_count")
    before = path.read_text()
    path.write_text(str(n))
    try:
        yield
    finally:
        path.write_text(before)


def many(own, count, blocks, bound):
    """Run programs/alloc/many.c, with this many mappings of its own, this many arrays, and this bound on mappings.
    Returns the number of its mappings before and after the allocations, and the arrays. The program has to succeed in
    what programs usually ask for afterwards: mapping memory, starting threads, loading a library."""
    source, program = SOURCE.with_name("many.c"), "/usr/local/bin/many"
    slurm.run(f"gcc -O1 -Wall -Werror -pthread -o {program} {source} -lhybridmem")
    with mappings_bounded(bound):
        said = json.loads(slurm.run(f"{program} {own} {count} {blocks}").stdout)
    assert (said["mapped"], said["started"], said["opened"]) == (1, 1, 1), said
    return said["before"], said["after"], said["arrays"]


@pytest.mark.parametrize(
    ("bound", "in_blocks", "ours"),
    [
        # An array in 256 blocks has 259 mappings, one in a single block has 4. Arrays in 256 blocks may use a quarter
        # of the bound, all arrays together three eighths.
        (1000, 0, 93),  # 250 are too few for one in 256 blocks; 375 / 4: 93 arrays in one block
        (4000, 3, 100),  # 1000 suffice for 3 in 256 blocks; the other 97 are in one block
    ],
)
def test_the_programs_own_mappings_stay_its_own(bound, in_blocks, ours):
    """100 arrays of 256 blocks each would be 25,900 mappings if nothing bounded them."""
    before, after, arrays = many(0, 100, 256, bound)
    assert [blocks for blocks, _ in arrays] == [256] * in_blocks + [1] * (ours - in_blocks) + [0] * (100 - ours)
    for blocks, reason in arrays:
        assert ("it is one block" in reason, "malloc was asked" in reason) == (blocks == 1, blocks == 0), reason
    taken = 259 * in_blocks + 4 * (ours - in_blocks)
    assert abs(after - before - taken) <= 4, "what the library counts is what the kernel has"


def test_where_the_kernel_stops_half_way_the_memory_is_one_mapping():
    """The program itself has most of the mappings: binding an array fails half-way, and none of its mappings stays."""
    before, after, arrays = many(2000, 3, 256, 2400)
    assert arrays[0] == [256, ""]
    for blocks, reason in arrays[1:]:
        assert blocks == 0 and re.search("the kernel does not bind memory to node [01]: Cannot allocate memory", reason)
    assert 2000 <= before <= 2004 and abs(after - before - 259 - 2 * 4) <= 4, (before, after)


@pytest.mark.parametrize(
    ("policy", "read", "written"),
    [("split", "slow", "fast"), ("fast,slow", "fast", "slow")],
)
def test_bench_has_its_arrays_where_it_says(policy, read, written):
    words = f"--kernels copy --sizes 64M --repetitions 1 --policy {policy} --json"
    (row,) = json.loads(slurm.run(f"hybridmem bench {words}").stdout)["results"]
    for role, tier in (("read", read), ("written", written)):
        assert row[role][f"{tier}_bytes"] == 32 * MIB and row[role]["reason"] == ""


@contextlib.contextmanager
def half_of_the_slow_tier():
    """Leave half of the slow tier: the other half is reserved for huge pages, which nobody uses, so that a sweep over
    all memory takes less time."""
    counts = [Path(f"/sys/devices/system/node/node{node}/hugepages/hugepages-2048kB/nr_hugepages") for node in (2, 3)]
    try:
        for count in counts:
            count.write_text("256")
        yield
    finally:
        for count in counts:
            count.write_text("0")


def test_bench_sweeps_past_the_fast_tier():
    """The sizes go beyond the fast tier's end: the share in the fast tier falls, and so does the predicted bandwidth,
    by Eq. 1."""
    tiers = json.loads(slurm.run("hybridmem tiers --json").stdout)["tiers"]
    speeds = [tier["read_bandwidth_mbs"] for tier in tiers]
    slurm.drop_caches()
    with half_of_the_slow_tier():
        done = slurm.run("hybridmem bench --kernels accumulate --repetitions 1 --json")
    rows = json.loads(done.stdout)["results"]
    shares = [row["read"]["fast_bytes"] / row["bytes"] for row in rows]
    assert len(rows) >= 5 and rows[-1]["bytes"] > json.loads(done.stdout)["fast_bytes"]
    assert shares[0] == 1 and shares[-1] < 0.9 and shares == sorted(shares, reverse=True)
    for row, share in zip(rows, shares):
        assert row["read"]["other_bytes"] == 0
        expected = 1 / (share / speeds[0] + (1 - share) / speeds[1])
        assert row["predicted_mbs"] == pytest.approx(expected, rel=1e-3)


def test_the_preload_library_sends_large_allocations_to_the_slow_tier():
    """The program is Debian's Python, which does not know hybridmem: its one large object is on the slow nodes,
    everything else on the fast nodes."""
    (library,) = Path("/usr/lib").glob("*/hybridmem/libhybridmem-preload.so")
    script = "import sys; a = bytearray(64 << 20); a[::4096] = b'x' * 16384; print(flush=True); sys.stdin.read()"
    env = {"LD_PRELOAD": str(library), "HYBRIDMEM_ISOLATE_NODES": "fast=0@0,1@1 slow=2@0,3@1"}
    words = ["python3", "-c", script]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **env}) as process:
        process.stdout.readline()
        rows = mappings(process.pid).values()
        process.stdin.close()
    assert process.returncode == 0
    placed_bytes, others = {}, {}
    for policy, nodes in rows:
        into = placed_bytes if policy.startswith("prefer=static:") else others
        for node, count in nodes.items():
            into[node] = into.get(node, 0) + count
    assert set(placed_bytes) == {2, 3} and min(placed_bytes.values()) >= 31 * MIB
    assert not set(others) & {2, 3} and sum(others.values()) < 64 * MIB


# tests/meter counts accesses from outside, and compares them with the claims of this file.
EXPECTED = Path("/tmp/meter-expected.json")
METER_MIB, PASSES = 64, 64
ACCESSES = METER_MIB * MIB // 64 * PASSES


def claim(name, words, make):
    """Run a program between two marks, and write down what is expected: make(SAID), where SAID is the JSON object that
    the program prints first."""
    with subprocess.Popen(
        list(map(str, words)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        said = json.loads(process.stdout.readline())
        slurm.run(f"meter-mark {name}.start")
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "DONE\n"
        slurm.run(f"meter-mark {name}.end")
        process.stdin.close()
    assert process.returncode == 0
    claims = json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}
    claims[name] = make(said)
    EXPECTED.write_text(json.dumps(claims))
    os.sync()
    return said


@pytest.mark.meter
@pytest.mark.parametrize(
    ("policy", "use", "nodes"),
    [(SPILL, READ, {"0", "1"}), (SPLIT, READ, {"2", "3"}), (SPLIT, WRITE, {"0", "1"}), (INTERLEAVE, READ, set("0123"))],
)
def test_accesses_to_placed_memory_between_two_marks(policy, use, nodes):
    said = claim(
        f"alloc-{policy}-{use}",
        (PROGRAM, policy, use, METER_MIB, 0, 0, METER_MIB, PASSES),
        lambda said: {
            "pages": {node: there // slurm.PAGE for node, (_, there) in said["nodes"].items()},
            "accesses": ACCESSES,
        },
    )
    assert set(said["nodes"]) == nodes


@pytest.mark.meter
@pytest.mark.parametrize(("policy", "name"), [(SLOW, "slow"), (SPLIT, "split")])
def test_a_copy_with_and_without_write_isolation(policy, name):
    source = SOURCE.with_name("copied.c")
    slurm.run(f"gcc -O1 -Wall -Werror -o /usr/local/bin/copied {source} -lhybridmem")
    said = claim(
        f"copy-{name}",
        ("/usr/local/bin/copied", policy, METER_MIB // 2, PASSES),
        lambda said: {"copy": said, "accesses": ACCESSES // 2},
    )
    assert set(said["read"]) == {"2", "3"}
    assert set(said["written"]) == ({"0", "1"} if policy == SPLIT else {"2", "3"})
