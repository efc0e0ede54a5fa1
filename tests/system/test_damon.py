# SPDX-License-Identifier: Apache-2.0
"""Tests the DAMON broker: which processes each user may watch, who gets a kdamond (a kernel thread of DAMON's), and how
much CPU time the watching takes."""

import errno
import os
import re
import struct
import subprocess
import sys
import time
from pathlib import Path

import damonclient
import pytest
import slurm
from damonbroker import BROKER, KDAMONDS, broker, number, programs, sleeper, states, step, write

HERE = Path(__file__).parent


def client_code(path, code):
    start = f"import sys; sys.path.insert(0, {str(HERE)!r})\nimport damonclient\n"
    return start + f"client = damonclient.Client({str(path)!r})\n{code}"


def as_root(path, code):
    """Run Python lines as root, with `client` connected to the broker. Returns what they print."""
    argv = [sys.executable, "-c", client_code(path, code)]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=slurm.PATIENCE).stdout.strip()


def outside(user, path, code):
    """Like as_root(), but as this user, in no job."""
    script = slurm.folder_of(user) / "client.py"
    script.write_text(client_code(path, code))
    return slurm.run(f"{sys.executable} {script}", user=user).stdout.strip()


def as_user(user, path, code):
    """Like outside(), but in a step of a job of the user."""
    script = slurm.folder_of(user) / "client.py"
    script.write_text(client_code(path, code))
    with step(path.parent, user) as cgroup:
        become = f"setpriv --reuid={user} --regid={user} --init-groups"
        done = slurm.run(f"echo $$ >{cgroup}/cgroup.procs && exec {become} {sys.executable} {script}")
    return done.stdout.strip()


def test_only_the_steps_of_jobs_are_served(run_dir):
    ask = "answer = client.ask([]); print(answer.number, answer.text)"
    with broker(run_dir) as (_, path):
        refused = outside("alice", path, ask)
        assert re.fullmatch(r"1 DAMON is lent to the steps of jobs alone: process \d+ is in none", refused), refused
        assert as_user("alice", path, ask) == "0"


def test_only_ones_own_processes_can_be_watched(run_dir):
    with broker(run_dir) as (_, path), sleeper("bob") as foreign, sleeper("alice") as own:
        ask = "answer = client.ask([{}]); print(answer.number, answer.n, answer.text)"
        refused = as_user("alice", path, ask.format(f"{own}, {foreign}"))
        assert re.fullmatch(rf"1 0 process {foreign} does not belong to user \d+", refused), refused
        assert states().count("on") == 0
        assert as_user("alice", path, ask.format(own)) == "0 1"
        started = damonclient.start_time(foreign)
        assert as_root(path, ask.format(foreign)) == "0 1"
        # A pid that another process has by now (another start time) is left out.
        assert as_root(path, ask.format(f"({foreign}, {started + 1})")) == "0 0"


def test_a_process_without_memory_counts_as_ended(run_dir):
    """A process that ends gives up its memory first. From then on its /proc files belong to root, as if the process
    were somebody else's: the broker leaves it out, and does not refuse the others. A kernel thread, which has no memory
    either, stands for such a process."""
    thread = int(slurm.run("pgrep -x kswapd0").stdout)
    with broker(run_dir) as (_, path), sleeper("alice") as own:
        ask = f"answer = client.ask([{own}, {thread}]); print(answer.number, answer.n, answer.text)"
        assert as_user("alice", path, ask) == "0 1"


def test_setuid_program_is_not_the_users(run_dir):
    with broker(run_dir) as (_, path):
        answer = as_user(
            "alice",
            path,
            "import os, subprocess, time\nheld = subprocess.Popen(['su', 'bob'], stdin=subprocess.PIPE)\n"
            "while os.stat(f'/proc/{held.pid}').st_uid == os.getuid(): time.sleep(0.1)\n"  # until it has become root's
            "answer = client.ask([held.pid]); print(answer.number, answer.text)\nheld.kill()",
        )
    assert "does not belong" in answer, answer


def test_a_program_that_becomes_setuid_is_not_watched_on(run_dir):
    with broker(run_dir) as (_, path):
        answer = as_user(
            "alice",
            path,
            "import subprocess\nheld = subprocess.Popen(['sh', '-c', 'read x; exec su bob'], stdin=subprocess.PIPE)\n"
            "print(client.ask([held.pid], interval_ms=1000).n)\nheld.stdin.write(b'go\\n')\nheld.stdin.flush()\n"
            "got = True\nwhile got is True: got = client.receive(damonclient.PATIENCE)\n"  # lists, and then an answer
            "print(got.number, got.text)\nheld.kill()",
        )
    assert answer == f"1\n{errno.ESRCH} a watched process does not belong to the client's user any more"


BORROW = """
import mmap, os, select, subprocess, threading, time
def until_roots(pid):
    while os.stat(f'/proc/{pid}/maps').st_uid == os.getuid(): time.sleep(0.1)
quiet = dict(stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
child = subprocess.Popen(['sh', '-c', 'read x; exec su bob'], **quiet)
setuid = subprocess.Popen(['su', 'bob'], **quiet)
until_roots(setuid.pid)
thread = threading.Thread(target=time.sleep, args=(damonclient.PATIENCE,), daemon=True)
thread.start()
started = damonclient.start_time(child.pid)  # that of another process
"""


def test_events_are_lent_for_the_steps_own_threads_alone(run_dir):
    """Not for another thread with the number of one that has ended, a set-user-ID program, a process of the user's
    outside of the step, or another user's. The kernel ends an event whose thread becomes a set-user-ID program: it
    hangs up."""
    with broker(run_dir, "--lend") as (_, path), sleeper("bob") as foreign, sleeper("alice") as outer:
        told = as_user(
            "alice",
            path,
            f"{BORROW}asked = [os.getpid(), thread.native_id, child.pid, (2, started), setuid.pid,"
            f" {outer}, {foreign}, {os.getpid()}]\n"
            "numbers, events = client.borrow(asked)\nprint(*numbers, len(events))\n"
            "ring = mmap.mmap(events[2], 2 * mmap.PAGESIZE)\n"  # without one, an event always seems to have ended
            "ends = select.poll()\nends.register(events[2], 0)\nprint(len(ends.poll(0)))\n"
            "child.stdin.write(b'go\\n')\nchild.stdin.flush()\nuntil_roots(child.pid)\n"
            "print(len(ends.poll(1000 * damonclient.PATIENCE)))\nchild.kill()\nsetuid.kill()",
        )
        refused = as_root(path, "print(*client.borrow([2]))")
    wanted = [0, 0, 0, errno.ESRCH, errno.EPERM, errno.EACCES, errno.EPERM, errno.EPERM, 3]
    assert told == f"{' '.join(map(str, wanted))}\n0\n1"
    assert refused == "root opens events itself []"
    with broker(run_dir) as (_, path):
        assert as_user("alice", path, f"print(*client.borrow([{os.getpid()}]))").startswith("lend_samples = no")


NONSENSE = {
    "empty": b"",
    "one byte": b"x",
    "zeros": b"\0" * 24,
    "endless": struct.pack("=IIII", damonclient.MAGIC, 1, 1, 0xFFFFFFFF),
    "an answer": struct.pack("=IIII", damonclient.MAGIC, 2, 1, 0),
    "pid -1": damonclient.watch_message([(-1, 5)]),
    "pid 1": damonclient.watch_message([(1, 5)]),
    "no budget": damonclient.watch_message([], budget=0),
    "1 ms": damonclient.watch_message([], interval_ms=1),
    "no ranges": damonclient.watch_message([(4000000, 1)], ranges=[]),
    "ranges backwards": damonclient.watch_message([(4000000, 1)], ranges=[(8192, 12288), (4096, 8192)]),
    "half a page": damonclient.watch_message([(4000000, 1)], ranges=[(4096, 6144)]),
    "twice": damonclient.watch_message([(4000000, 1), (4000000, 1)]),
    "257 processes": damonclient.watch_message([(pid, 1) for pid in range(4000000, 4000257)]),
}


def test_nonsense_ends_the_conversation(run_dir):
    with broker(run_dir) as (process, path):
        for what, message in NONSENSE.items():
            answer = damonclient.Client(path).ask_raw(message)
            assert answer is None or (answer.number != 0 and answer.text), (what, answer)
            assert (process.poll(), number()) == (None, 0), what
        client = damonclient.Client(path)
        assert client.ask([]).number == 0


def test_kdamonds_of_others_are_left_alone(run_dir):
    write(KDAMONDS / "nr_kdamonds", "3")
    write(KDAMONDS / "1" / "contexts" / "nr_contexts", "1")
    try:
        with broker(run_dir) as (process, path):
            answer = damonclient.Client(path).ask([])
            assert answer.number != 0 and "3 kdamonds that are not hybridmem's" in answer.text
            process.terminate()
            assert process.wait(slurm.PATIENCE) == 0
            assert number() == 3
            assert (KDAMONDS / "1" / "contexts" / "nr_contexts").read_text().strip() == "1"
            write(KDAMONDS / "nr_kdamonds", "0")
        # A broker that started while others had kdamonds gets its own once those are gone.
        write(KDAMONDS / "nr_kdamonds", "3")
        with broker(run_dir, "--kdamonds", "2") as (_, path):
            assert damonclient.Client(path).ask([]).number == errno.EBUSY
            write(KDAMONDS / "nr_kdamonds", "0")
            assert damonclient.Client(path).ask([]).number == 0
            assert number() == 2
    finally:
        write(KDAMONDS / "nr_kdamonds", "0")


@pytest.mark.slurm26
def test_modules_of_the_kernel_that_hold_damon_are_named(run_dir):
    """Newer kernels may have damon_stat on from the start. The guest is booted without it, as the admin guide says."""
    enabled = Path("/sys/module/damon_reclaim/parameters/enabled")
    with broker(run_dir) as (_, path), sleeper("alice") as watched:
        enabled.write_text("Y")
        try:
            refused = damonclient.Client(path).ask([])
        finally:
            enabled.write_text("N")
        assert f"the kernel's own damon_reclaim holds DAMON: write N to {enabled}" in refused.text
        assert damonclient.Client(path).ask([watched]).n == 1


def test_that_no_kdamond_is_free_is_said_and_a_dead_client_frees_one(run_dir):
    with broker(run_dir, "--kdamonds", "2") as (_, path), sleeper("alice") as watched:
        first, second, third = (damonclient.Client(path) for _ in range(3))
        assert first.ask([watched]).n == 1
        assert second.ask([]).number == 0
        refused = third.ask([])
        assert "all 2 are lent" in refused.text
        slurm.wait_for(lambda: states() == ["on", "off"], "the first client's kdamond alone")
        first.close()
        slurm.wait_for(lambda: third.ask([watched]).number == 0, "a free kdamond")
        # The kernel closes the socket of a killed client, as if the client had closed it.
        ask = f"import os\nprint(client.ask([{watched}]).n, flush=True)\nos.kill(os.getpid(), 9)"
        second.close()
        slurm.wait_for(lambda: "1" in as_root(path, ask), "a kdamond for the client that will be killed")
        fourth = damonclient.Client(path)
        slurm.wait_for(lambda: fourth.ask([]).number == 0, "the kdamond of the killed client")


def test_one_user_cannot_take_all_kdamonds(run_dir):
    with broker(run_dir, "--kdamonds", "2") as (_, path):
        two = as_user(
            "alice",
            path,
            f"other = damonclient.Client({str(path)!r})\nprint(client.ask([]).number, other.ask([]).text)",
        )
        assert two.startswith("0 no kdamond is free: the last of 2 is kept"), two


def test_second_broker_in_a_folder_and_users_are_refused(run_dir):
    with broker(run_dir):
        again = slurm.run(f"{BROKER} --run-dir {run_dir}", check=False)
        assert again.returncode == 1 and "another broker" in again.stderr
    assert "only root may use DAMON" in slurm.run(f"{BROKER} --run-dir {run_dir}", user="alice", check=False).stderr
    run_dir.chmod(0o777)
    assert "must belong to root" in slurm.run(f"{BROKER} --run-dir {run_dir}", check=False).stderr


def test_broker_keeps_few_capabilities(run_dir):
    with broker(run_dir) as (process, _):
        status = Path(f"/proc/{process.pid}/status").read_text()
        assert int(re.search(r"CapEff:\s+(\w+)", status)[1], 16) == 1 << 38 | 1 << 14  # CAP_PERFMON, CAP_IPC_LOCK
        assert int(re.search(r"CapBnd:\s+(\w+)", status)[1], 16) == 0


# There are more programs than CPUs: DAMON does not flush TLBs, so it sees an access only where an address is translated
# anew. The emulator keeps all translations until a CPU changes to another program.
N_PROGRAMS = 4
BUDGET = 0.04  # of a CPU
MOST_SHARE = 3 * BUDGET
STRETCHES = 6  # measurements: other work makes some of them expensive; a broker that overspends does so in each
PATIENCE = 900  # seconds for some lists of each program: one for each aggregation of DAMON's, of up to 5 s (tune.h)


def test_hot_tenth_is_found_and_the_cost_is_bounded(run_dir):
    with broker(run_dir) as (_, path), programs(N_PROGRAMS, 64) as running:
        client = damonclient.Client(path)
        answer = client.ask([one[0] for one in running], budget=round(BUDGET * 1e6))
        assert answer.n == N_PROGRAMS, answer
        where = [damonclient.anonymous_ranges(one[0]) for one in running]

        def all_found():
            lists = client.wait_rounds(patience=PATIENCE)
            return all(
                damonclient.found([one for one in lists if one.process == p], *running[p][3:]) > 0.7
                for p in range(N_PROGRAMS)
            )

        slurm.wait_for(all_found, "the hot tenth of every program among the hottest regions", patience=PATIENCE)
        for one in client.lists:
            for region in one.regions:
                assert any(start <= region.start and region.end <= end for start, end in where[one.process]), region
        shares = []
        while len(shares) < STRETCHES and min(shares, default=MOST_SHARE) >= MOST_SHARE:
            before, begin = client.wait_rounds(patience=PATIENCE)[-1].cpu_s, time.monotonic()
            client.wait_rounds(2, PATIENCE)
            shares.append((client.lists[-1].cpu_s - before) / (time.monotonic() - begin))
            assert client.lists[-1].lost == 0
        assert min(shares) < MOST_SHARE, shares


def test_a_watched_program_that_ends_does_no_harm(run_dir):
    with broker(run_dir) as (process, path), sleeper("alice") as stays:
        gone = subprocess.Popen(["sleep", "100000"])
        client = damonclient.Client(path)
        assert client.ask([stays, gone.pid]).n == 2
        named = [stays, (gone.pid, damonclient.start_time(gone.pid))]
        gone.kill()
        gone.wait()
        assert client.ask(named, generation=2).n == 1
        assert process.poll() is None
