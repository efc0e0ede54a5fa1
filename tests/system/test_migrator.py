# SPDX-License-Identifier: Apache-2.0
"""Runs the live migrator by hand, without Slurm: what it moves, what it leaves alone, how it ends.

Its samples are page faults that a program makes on its hot range (programs/rewrite.c), so that the pages are known and
no hardware is needed.
"""

import contextlib
import itertools
import json
import os
import pwd
import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest
import slurm
from migration import FAST, nodes_of, reclaimers, scarce_fast, usable_bytes, written
from stepmigrators import MIGRATOR, Progress

CGROUPS = Path("/sys/fs/cgroup")
PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
MIB = slurm.MIB
PAGES = MIB // slurm.PAGE  # of a MiB
HOT_FIRST, HOT = 40, 8  # MiB
SIZE = 80


@pytest.fixture(autouse=True)
def faults_for_users():
    before = PARANOID.read_text()
    PARANOID.write_text("2")
    yield
    PARANOID.write_text(before)


@contextlib.contextmanager
def cgroup(name):
    folder = CGROUPS / name
    folder.mkdir()
    try:
        yield folder
    finally:
        for pid in (folder / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        slurm.wait_for(lambda: "populated 0" in (folder / "cgroup.events").read_text(), f"an empty {name}")
        folder.rmdir()


class Program:
    """Runs programs/rewrite.c in a cgroup, with its memory on the given nodes."""

    def __init__(self, folder, user="alice", kind="small", nodes="2,3", mib=SIZE, first=HOT_FIRST, hot=HOT):
        self.place = slurm.folder_of(user)
        self.ready, self.go = self.place / "ready", self.place / "go"
        command = f"numactl --membind={nodes} rewrite {mib} {first} {hot} {kind} {self.ready} {self.go}"
        script = (
            f"echo $$ > {folder}/cgroup.procs && exec setpriv --reuid {user} --regid {user} --clear-groups {command}"
        )
        self.process = subprocess.Popen(["bash", "-c", script])
        slurm.wait_for(lambda: self.ready.exists() or self.process.poll() is not None, "a program's memory")
        pid, start = self.ready.read_text().split()
        self.pid, self.start, self.mib, self.first, self.hot = int(pid), int(start, 16), mib, first, hot

    def nodes(self, first, mib):
        """The node of each page of a range, given in MiB from the start; a negative number for a page that is
        absent."""
        return nodes_of(self.pid, self.start + first * MIB, mib * PAGES)

    def on_fast(self, first=0, mib=None):
        return sum(node in FAST for node in self.nodes(first, self.mib if mib is None else mib))

    def hot_on_fast(self):
        return self.on_fast(self.first, self.hot) / (self.hot * PAGES)

    def huge_bytes(self):
        text = Path(f"/proc/{self.pid}/smaps").read_text()
        return sum(int(kib) * 1024 for kib in re.findall(r"AnonHugePages:\s+(\d+)", text))

    def end(self):
        """Wait for the program's end; it must have ended by itself."""
        self.go.touch()
        assert self.process.wait(slurm.PATIENCE) == 0


class Migrator:
    """A migrator that is started by hand, as a user. The test asks it for its figures by its socket."""

    numbers = itertools.count(900001)

    def __init__(self, *options, user="alice", source="faults", begun_by="the user"):
        self.user, self.job = user, next(self.numbers)
        words = ["--fast-nodes", "0,1", "--slow-nodes", "2,3", "--source", source, "--overhead", "50%", "--json"]
        words += ["--algorithm", "bins", "--job", self.job, "--step", "0", *options]
        argv = [MIGRATOR, *map(str, words)]
        if begun_by == "root":  # as in a step
            argv += ["--uid", str(pwd.getpwnam(user).pw_uid), "--gid", str(pwd.getpwnam(user).pw_gid)]
        else:
            argv = ["setpriv", "--reuid", user, "--regid", user, "--clear-groups", *argv]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def name(self):
        """The name of the migrator's abstract socket, with a mark at its end that nobody can guess; "": none yet."""
        found = re.search(rf"@(hybridmem/{self.job}\.0\.\w+)$", Path("/proc/net/unix").read_text(), re.M)
        return found[1] if found else ""

    def view(self):
        """(phases, samples, promoted bytes, demoted bytes) now (helpers/migrator/figures/progress.h), or None."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asked:
            try:
                asked.connect(f"\0{self.name()}")
                asked.send(b"?")
                data = asked.recv(65536)
            except (ConnectionError, BrokenPipeError):
                return None
        if not data:
            return None
        now = Progress.from_buffer_copy(data)
        return now.phases, now.samples, now.promoted_bytes, now.demoted_bytes

    def wait_phases(self, count):
        """Wait until `count` more phases have ended."""
        first = slurm.wait_for(self.view, "the migrator to answer")[0]
        slurm.wait_for(lambda: self.view()[0] >= first + count, f"{count} phases")

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.wait()

    def wait(self):
        """Wait for the end. Returns the figures."""
        out, err = self.process.communicate(timeout=slurm.PATIENCE)
        assert self.process.returncode == 0 and err == "", (self.process.returncode, err)
        return json.loads(out)


def by_samples(samples=20000):
    """Options for phases that end after so many samples."""
    return ["--phase-samples", samples, "--interval", "1s"]


def hot_is_fast(program):
    slurm.wait_for(lambda: program.hot_on_fast() > 0.95, "the hot range in the fast tier")


def test_the_hot_range_is_promoted():
    with cgroup("hm-hot") as folder:
        program = Program(folder)
        assert program.on_fast() == 0
        migrator = Migrator("--cgroup", folder, *by_samples())
        hot_is_fast(program)
        cold = program.on_fast(0, HOT_FIRST - 4)
        migrator.wait_phases(2)
        peak = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{migrator.process.pid}/status").read_text())[1]
        figures = migrator.stop()
        program.end()
    assert figures["source"] == "faults"
    assert figures["phases"] >= 3 and figures["samples"] >= 60000
    assert 0.95 * HOT * MIB <= figures["promoted_bytes"] <= 1.2 * HOT * MIB
    assert cold * slurm.PAGE < 0.05 * SIZE * MIB
    assert figures["most_ranks"] == 1 and figures["warnings"] == []
    assert figures["last_fast_share"] > 0.9
    assert 0 < figures["fast_share"] <= figures["best_share"] <= 1
    assert int(peak) * 1024 < 16 * MIB


def test_the_cap_holds():
    cap = 20 * MIB
    with cgroup("hm-cap") as folder:
        program = Program(folder, nodes="0,1")
        assert program.on_fast() == SIZE * PAGES
        migrator = Migrator("--cgroup", folder, "--cap", cap, *by_samples())
        slurm.wait_for(lambda: program.on_fast() * slurm.PAGE <= cap, "the cap to hold")
        hot = program.hot_on_fast()
        migrator.wait_phases(2)
        held_later = program.on_fast() * slurm.PAGE
        figures = migrator.stop()
        program.end()
    assert held_later <= cap
    assert hot > 0.95  # only cold pages were demoted
    assert figures["capacity_bytes"] == cap
    assert figures["first_above_cap_bytes"] >= SIZE * MIB - cap
    assert figures["demoted_bytes"] >= SIZE * MIB - cap


def test_nothing_to_move_needs_no_source():
    with cgroup("hm-rest") as folder:
        content = Program(folder, nodes="0,1")
        migrator = Migrator("--cgroup", folder, "--interval", "200ms")
        migrator.wait_phases(4)
        assert migrator.view()[1] == 0
        program = Program(folder, user="bob", mib=8, first=0, hot=1)  # of another user, but in the migrator's cgroup
        slurm.wait_for(lambda: migrator.view()[1] > 0, "samples")
        program.end()
        slurm.wait_for(lambda: not samples_come(migrator), "the end of sampling")
        figures = migrator.stop()
        content.end()
    assert figures["source"] == "faults" and figures["promoted_bytes"] == figures["demoted_bytes"] == 0
    with cgroup("hm-rest-only") as folder:
        content = Program(folder, nodes="0,1")
        migrator = Migrator("--cgroup", folder, "--interval", "200ms")
        migrator.wait_phases(4)
        figures = migrator.stop()
        content.end()
    assert figures["source"] == "none yet" and "slow tier" in figures["source_why"]
    assert figures["samples"] == 0 and figures["kernel_cpu_s"] == 0 and figures["fast_share"] is None
    assert figures["warnings"] == []


def samples_come(migrator):
    before = migrator.view()[1]
    migrator.wait_phases(3)
    return migrator.view()[1] != before


BURSTS = """
import mmap, time
while True:
    with mmap.mmap(-1, 16 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        for at in range(0, len(memory), mmap.PAGESIZE):
            memory[at] = 1
        time.sleep(1)
    time.sleep(1)
"""


def usable():
    return sum(usable_bytes(node) for node in FAST)


def test_the_room_that_is_kept_follows_what_is_allocated():
    """A step that allocates nothing has the fast tier down to the kernel's watermarks. When a process begins to
    allocate and free memory in turn, room for that is made again, and nobody has to wait for it."""
    with cgroup("hm-room") as folder, scarce_fast(24 * MIB, min_free_kib=8192), reclaimers() as seen:
        program = Program(folder, first=0, hot=40)
        before = usable()
        migrator = Migrator("--cgroup", folder, *by_samples())
        slurm.wait_for(lambda: usable() < 0.05 * before, "the fast tier full of hot pages")
        words = f'echo $$ > {folder}/cgroup.procs && exec setpriv --reuid alice --regid alice --clear-groups "$@"'
        bursts = subprocess.Popen(["bash", "-c", words, "bash", "numactl", "--interleave=0,1", "python3", "-c", BURSTS])
        slurm.wait_for(lambda: usable() > 8 * MIB, "room for what is allocated")
        assert bursts.poll() is None
        bursts.kill()
        bursts.wait()
        reclaiming, n_killed = seen()
        figures = migrator.stop()
        program.end()
    assert figures["demoted_bytes"] > 8 * MIB
    assert not reclaiming & {"rewrite", "python3"} and n_killed == 0, reclaiming


def test_a_cap_in_percent_of_the_tier():
    with cgroup("hm-percent") as folder:
        program = Program(folder)
        migrator = Migrator("--cgroup", folder, "--cap", "10%", *by_samples())
        migrator.wait_phases(1)
        figures = migrator.stop()
        program.end()
    total = sum(
        int(re.search(r"MemTotal:\s+(\d+)", Path(f"/sys/devices/system/node/node{node}/meminfo").read_text())[1]) * 1024
        for node in FAST
    )
    assert abs(figures["capacity_bytes"] - total / 10) <= slurm.PAGE


def test_processes_of_others_are_left_alone():
    with cgroup("hm-inside") as inside, cgroup("hm-outside") as outside:
        mine, others = Program(inside), Program(inside, user="bob")
        beside = Program(outside)
        migrator = Migrator("--cgroup", inside, *by_samples())
        hot_is_fast(mine)
        migrator.wait_phases(1)
        assert others.on_fast() == 0 and beside.on_fast() == 0
        figures = migrator.stop()
        for program in (mine, others, beside):
            program.end()
    assert figures["most_ranks"] == 1


def test_a_killed_migrator_leaves_the_program_running():
    with cgroup("hm-kill") as folder:
        program = Program(folder)
        migrator = Migrator("--cgroup", folder, *by_samples())
        hot_is_fast(program)
        migrator.process.kill()
        assert migrator.process.wait(slurm.PATIENCE) == -signal.SIGKILL
        program.end()


def test_huge_pages_move_whole():
    with cgroup("hm-huge") as folder:
        program = Program(folder, kind="huge")
        huge = program.huge_bytes()
        assert huge >= 0.8 * SIZE * MIB
        # The program's hot range is four huge pages. Each of them is sampled at its first page only, so a round of
        # writes makes four faults. Bins reach from one sampled page to the next, and the first and the last bin to the
        # ends of the process's memory, so that these two have much cold memory, too.
        migrator = Migrator("--cgroup", folder, "--lat-read", 100, "--lat-write", 100, *by_samples(3000))
        slurm.wait_for(lambda: program.hot_on_fast() > 0.4, "hot huge pages in the fast tier")
        migrator.wait_phases(2)
        figures = migrator.stop()
        assert program.huge_bytes() >= huge  # khugepaged may have made more of them
        promoted = program.on_fast() * slurm.PAGE
        program.end()
    assert abs(figures["promoted_bytes"] - figures["demoted_bytes"] - promoted) <= 2 * MIB
    assert figures["unmoved_bytes"]["busy"] == 0


def test_shared_pages_are_tried_once():
    with cgroup("hm-shared") as folder:
        program = Program(folder, kind="forked", nodes="0,1")
        migrator = Migrator("--cgroup", folder, "--cap", "1M", *by_samples())
        migrator.wait_phases(3)
        figures = migrator.stop()
        program.end()
    shared = (SIZE - HOT) * MIB
    assert figures["most_ranks"] == 2
    # The migrator may try them once for each of the two processes.
    assert 0.9 * shared <= figures["unmoved_bytes"]["shared"] <= 2.1 * shared
    assert figures["above_cap_bytes"] >= 0.9 * shared


def share_of(figures, kind, what="share"):
    return figures["heat"][kind][what]


def test_shared_memory_is_moved_for_all_who_map_it():
    with cgroup("hm-shm") as folder:
        program = Program(folder, kind="shared")
        migrator = Migrator("--cgroup", folder, *by_samples(), begun_by="root")
        hot_is_fast(program)
        migrator.wait_phases(1)
        cold = program.on_fast(0, HOT_FIRST - 4)
        figures = migrator.stop()
        program.end()
    assert figures["most_ranks"] == 2
    assert 0.95 * HOT * MIB <= figures["promoted_bytes"] <= 1.2 * HOT * MIB  # counted once, not for each process
    assert cold * slurm.PAGE < 0.05 * SIZE * MIB
    assert share_of(figures, "shared") > 0.9 and share_of(figures, "shared", "unmovable") < 0.05
    assert figures["unmoved_bytes"]["shared"] == 0


def run_with_half_moved(name, kind, **begun):
    """Runs a migrator that may not move what both processes use, until the half that one alone uses is fast, and some
    phases more. Returns its figures."""
    with cgroup(name) as folder:
        program = Program(folder, kind=kind)
        migrator = Migrator("--cgroup", folder, *by_samples(), **begun)
        slurm.wait_for(lambda: program.on_fast(HOT_FIRST + HOT // 2, HOT // 2) > 0.95 * HOT / 2 * PAGES, "its own half")
        migrator.wait_phases(4)  # in each of them some more of its pages are tried
        figures = migrator.stop()
        assert program.on_fast(HOT_FIRST, HOT // 2) == 0
        program.end()
    assert figures["unmoved_bytes"]["shared"] > 0
    return figures


def test_shared_memory_without_the_right_to_move_it_for_all():
    figures = run_with_half_moved("hm-mine", "shared")
    assert 0.05 < share_of(figures, "shared", "unmovable") < 0.8


def test_shared_memory_of_another_user_is_not_moved_for_all():
    given = Path("/dev/shm/given")
    given.touch()
    given.chmod(0o666)
    os.chown(given, pwd.getpwnam("bob").pw_uid, -1)
    run_with_half_moved("hm-given", "given", begun_by="root")
    given.unlink()


def test_a_file_of_the_users_is_moved():
    with cgroup("hm-file") as folder:
        program = Program(folder, kind="file")
        migrator = Migrator("--cgroup", folder, *by_samples(), begun_by="root")
        hot_is_fast(program)
        migrator.wait_phases(1)
        figures = migrator.stop()
        program.end()
    assert share_of(figures, "file") > 0.9 and share_of(figures, "file", "unmovable") < 0.1


def test_huge_pages_of_hugetlbfs_are_moved():
    pool = Path("/proc/sys/vm/nr_hugepages")
    pages = SIZE // 2 + 1
    with written({pool: pages + 4}), cgroup("hm-tlb") as folder:
        program = Program(folder, kind="hugetlb", nodes="0,1,2,3")
        before = program.on_fast()
        migrator = Migrator("--cgroup", folder, "--cap", "1M", "--interval", "1s", begun_by="root")
        slurm.wait_for(lambda: program.on_fast() == 0, "huge pages in the slow tier")
        migrator.wait_phases(1)
        figures = migrator.stop()
        program.end()
    assert before > 0
    assert figures["demoted_bytes"] >= before * slurm.PAGE


def test_the_rate_is_kept():
    with cgroup("hm-rate") as folder:
        program = Program(folder)
        migrator = Migrator("--cgroup", folder, "--rate", "1M", *by_samples(5000))
        migrator.wait_phases(4)
        figures = migrator.stop()
        program.end()
    assert 0 < figures["promoted_bytes"] + figures["demoted_bytes"] <= figures["phases"] * MIB


def test_past_its_time_limit_nothing_is_moved():
    with cgroup("hm-end") as folder:
        program = Program(folder)
        migrator = Migrator("--cgroup", folder, "--end", 1, *by_samples())
        migrator.wait_phases(2)
        assert program.on_fast() == 0
        figures = migrator.stop()
        program.end()
    assert figures["promoted_bytes"] == 0


def test_it_ends_with_the_cgroup():
    with cgroup("hm-guard") as folder:
        program = Program(folder)
        migrator = Migrator("--cgroup", folder, *by_samples())
        migrator.wait_phases(1)
        program.end()
        figures = migrator.wait()
    assert figures["phases"] >= 1


def test_it_ends_with_the_processes_it_was_given():
    with cgroup("hm-pid") as folder:
        program = Program(folder)
        migrator = Migrator("--pid", program.pid, *by_samples())
        hot_is_fast(program)
        program.end()
        figures = migrator.wait()
    assert figures["promoted_bytes"] >= 0.95 * HOT * MIB


def test_the_kernels_own_tiering_is_named():
    balancing = Path("/proc/sys/kernel/numa_balancing")
    before = balancing.read_text()
    with cgroup("hm-kernel") as folder:
        program = Program(folder, mib=8, first=0, hot=1)
        try:
            balancing.write_text("2")
            migrator = Migrator("--cgroup", folder, *by_samples(1000))
            migrator.wait_phases(1)
            figures = migrator.stop()
        finally:
            balancing.write_text(before)
        program.end()
    assert any("numa_balancing" in warning for warning in figures["warnings"])


def test_without_a_source_it_stays_and_says_why():
    PARANOID.write_text("3")
    with cgroup("hm-none") as folder:
        program = Program(folder, mib=8, first=0, hot=1)
        migrator = Migrator("--cgroup", folder, "--interval", "100ms", source="auto")
        slurm.wait_for(migrator.view, "the migrator to answer")
        figures = migrator.stop()
        program.end()
    assert figures["source"] == "none" and figures["fast_share"] is None
    assert any("no source" in warning for warning in figures["warnings"])


def test_the_next_best_source():
    with cgroup("hm-next") as folder:
        program = Program(folder)
        migrator = Migrator("--cgroup", folder, "--broker", "/run/nobody/there", *by_samples(), source="damon")
        hot_is_fast(program)
        figures = migrator.stop()
        program.end()
    assert figures["source"] == "faults"
    assert any("/run/nobody/there" in warning for warning in figures["warnings"])


def test_the_view_is_for_its_user():
    with cgroup("hm-view") as folder:
        program = Program(folder, mib=8, first=0, hot=1)
        migrator = Migrator("--cgroup", folder, *by_samples(1000))
        migrator.wait_phases(1)
        ask = (
            "import socket; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); "
            f"s.connect('\\0{migrator.name()}'); s.send(b'?'); print(len(s.recv(65536)))"
        )
        sizes = {}
        for user in ("alice", "bob"):
            done = slurm.run(f'python3 -c "{ask}"', user=user, check=False)
            sizes[user] = int(done.stdout) if done.returncode == 0 else 0
        migrator.stop()
        program.end()
    assert sizes["alice"] > 1000 and sizes["bob"] == 0
