# SPDX-License-Identifier: Apache-2.0
"""The DAMON broker: whom it lets watch what, whom it lends to, and that nothing of it stays behind."""

import contextlib
import errno
import fcntl
import os
import re
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import damonclient
import pytest
import slurm

KDAMONDS = Path("/sys/kernel/mm/damon/admin/kdamonds")
BROKER = "/usr/libexec/hybridmem/hybridmem-damon"
HERE = Path(__file__).parent


def number():
    return int((KDAMONDS / "nr_kdamonds").read_text())


def state(k):
    """The kernel does not wait for its lock: EBUSY while somebody else looks or writes."""

    def read():
        try:
            return (KDAMONDS / str(k) / "state").read_text().strip()
        except OSError as why:
            assert why.errno == errno.EBUSY
            return None

    return slurm.wait_for(read, f"the state of kdamond {k}")


def states():
    return [state(k) for k in range(number())]


def files_of(pid):
    """What its descriptors name; some come and go while it works."""
    found = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.append(str(link.readlink()))
    return found


@contextlib.contextmanager
def broker(folder, *options):
    """A broker of its own in the folder; told to end afterwards, and nothing may be left then."""
    folder.chmod(0o755)
    process = subprocess.Popen([BROKER, "--run-dir", str(folder), *options], stderr=subprocess.PIPE, text=True)
    assert process.stderr.read() == ""  # it is closed when the broker listens
    try:
        yield process, folder / "damon.sock"
    finally:
        process.terminate()
        assert process.wait(slurm.PATIENCE) in (0, -signal.SIGKILL)
    if process.returncode == 0:
        assert number() == 0
        assert sorted(p.name for p in folder.iterdir()) == ["damon.lock"]


@pytest.fixture
def run_dir():
    folder = Path(slurm.run("mktemp -d /run/damon-test.XXXXXX").stdout.strip())
    yield folder
    slurm.run(f"rm -r {folder}")


def start(user, *argv):
    return subprocess.Popen(argv, user=user, group=user, extra_groups=[], stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def programs(count, mib, kind="write", user="alice"):
    """Programs with a hot tenth: (pid, start, end, start of the hot tenth, its end) of each."""
    folder = slurm.folder_of(user)
    go = folder / "go"
    ready = [folder / f"ready{i}" for i in range(count)]
    running = [start(user, "hotrange", str(mib), kind, str(path), str(go)) for path in ready]
    try:
        slurm.wait_for(lambda: all(path.exists() for path in ready), "programs with a hot tenth")
        words = [path.read_text().split() for path in ready]
        yield [(int(pid), *(int(word, 16) for word in rest)) for pid, *rest in words]
    finally:
        go.touch()
        assert [program.wait(slurm.PATIENCE) for program in running] == [0] * count


@contextlib.contextmanager
def sleeper(user):
    process = start(user, "sleep", "100000")
    try:
        slurm.wait_for(lambda: Path(f"/proc/{process.pid}/comm").read_text() == "sleep\n", "a process of the user")
        yield process.pid
    finally:
        process.kill()
        process.wait()


def client_code(path, code):
    start = f"import sys; sys.path.insert(0, {str(HERE)!r})\nimport damonclient\n"
    return start + f"client = damonclient.Client({str(path)!r})\n{code}"


def as_root(path, code):
    """Run Python lines with `client` connected; what they print."""
    argv = [sys.executable, "-c", client_code(path, code)]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=slurm.PATIENCE).stdout.strip()


def as_user(user, path, code):
    """The same as a user."""
    script = slurm.folder_of(user) / "client.py"
    script.write_text(client_code(path, code))
    return slurm.run(f"{sys.executable} {script}", user=user).stdout.strip()


def test_only_ones_own_processes_can_be_watched(run_dir):
    with broker(run_dir) as (_, path), sleeper("bob") as foreign, sleeper("alice") as own:
        ask = "answer = client.ask([{}]); print(answer.number, answer.n, answer.text)"
        refused = as_user("alice", path, ask.format(f"{own}, {foreign}"))
        assert re.fullmatch(rf"1 0 process {foreign} does not belong to user \d+", refused), refused
        assert states().count("on") == 0
        assert as_user("alice", path, ask.format(own)) == "0 1"
        started = damonclient.start_time(foreign)
        assert as_root(path, ask.format(foreign)) == "0 1"
        # A number that has become another process's by now is no process of this name: it is left out.
        assert as_root(path, ask.format(f"({foreign}, {started + 1})")) == "0 0"


def test_setuid_program_is_not_the_users(run_dir):
    with broker(run_dir) as (_, path):
        answer = as_user(
            "alice",
            path,
            "import subprocess, time\nheld = subprocess.Popen(['su', 'bob'], stdin=subprocess.PIPE)\ntime.sleep(1)\n"
            "answer = client.ask([held.pid]); print(answer.number, answer.text)\nheld.kill()",
        )
    assert "does not belong" in answer, answer


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


@pytest.mark.parametrize("message", NONSENSE.values(), ids=NONSENSE.keys())
def test_nonsense_ends_the_conversation(run_dir, message):
    with broker(run_dir) as (process, path):
        client = damonclient.Client(path)
        answer = client.ask_raw(message)
        assert answer is None or (answer.number != 0 and answer.text)
        assert process.poll() is None
        assert number() == 0
        client = damonclient.Client(path)
        assert client.ask([]).number == 0


def test_kdamonds_of_others_are_left_alone(run_dir):
    (KDAMONDS / "nr_kdamonds").write_text("3")
    (KDAMONDS / "1" / "contexts" / "nr_contexts").write_text("1")
    try:
        with broker(run_dir) as (process, path):
            answer = damonclient.Client(path).ask([])
            assert answer.number != 0 and "3 kdamonds that are not hybridmem's" in answer.text
            process.terminate()
            assert process.wait(slurm.PATIENCE) == 0
            assert number() == 3
            assert (KDAMONDS / "1" / "contexts" / "nr_contexts").read_text().strip() == "1"
            (KDAMONDS / "nr_kdamonds").write_text("0")
        # A broker that began beside them has its own once they have gone.
        (KDAMONDS / "nr_kdamonds").write_text("3")
        with broker(run_dir, "--kdamonds", "2") as (_, path):
            assert damonclient.Client(path).ask([]).number == errno.EBUSY
            (KDAMONDS / "nr_kdamonds").write_text("0")
            assert damonclient.Client(path).ask([]).number == 0
            assert number() == 2
    finally:
        (KDAMONDS / "nr_kdamonds").write_text("0")


@pytest.mark.main
def test_modules_of_the_kernel_that_hold_damon_are_named(run_dir):
    """Newer kernels may have damon_stat on from the start; the guest is booted without it, as the guide says."""
    enabled = Path("/sys/module/damon_reclaim/parameters/enabled")
    with broker(run_dir) as (_, path), sleeper("alice") as watched:
        enabled.write_text("Y")
        try:
            refused = damonclient.Client(path).ask([])
        finally:
            enabled.write_text("N")
        assert f"the kernel's own damon_reclaim holds DAMON: write N to {enabled}" in refused.text
        assert damonclient.Client(path).ask([watched]).n == 1


def test_none_free_is_named_and_a_dead_client_frees_one(run_dir):
    with broker(run_dir, "--kdamonds", "2") as (_, path), sleeper("alice") as watched:
        first, second, third = (damonclient.Client(path) for _ in range(3))
        assert first.ask([watched]).n == 1
        assert second.ask([]).number == 0
        refused = third.ask([])
        assert "all 2 are lent" in refused.text
        assert states() == ["on", "off"]
        first.close()
        slurm.wait_for(lambda: states() == ["off", "off"], "the kdamond of the client that left")
        slurm.wait_for(lambda: third.ask([watched]).number == 0, "a free kdamond")
        # A client that is killed is one that has closed its socket.
        ask = f"import os\nprint(client.ask([{watched}]).n, flush=True)\nos.kill(os.getpid(), 9)"
        second.close()
        slurm.wait_for(lambda: "1" in as_root(path, ask), "a kdamond for the client that will be killed")
        slurm.wait_for(lambda: states().count("on") == 1, "the kdamond of the killed client")


def test_one_user_cannot_take_them_all(run_dir):
    with broker(run_dir, "--kdamonds", "2") as (_, path):
        two = as_user(
            "alice",
            path,
            f"other = damonclient.Client({str(path)!r})\nprint(client.ask([]).number, other.ask([]).text)",
        )
        assert two.startswith("0 no kdamond is free: the last of 2 is kept"), two


def test_killed_broker_leaves_nothing_for_long(run_dir):
    with sleeper("alice") as watched:
        with broker(run_dir) as (process, path):
            client = damonclient.Client(path)
            assert client.ask([watched]).n == 1
            process.kill()
            process.wait()
            assert states().count("on") == 1
        with broker(run_dir) as (_, path):
            assert states().count("on") == 0
            assert damonclient.Client(path).ask([watched]).n == 1
        # And without a next one.
        with broker(run_dir) as (process, path):
            client = damonclient.Client(path)
            assert client.ask([watched]).n == 1
            process.kill()
            process.wait()
            assert states().count("on") == 1
        slurm.run(f"{BROKER} --run-dir {run_dir} --clean")
        assert number() == 0


def test_wherever_a_broker_is_killed_the_next_one_knows_what_is_its_own(run_dir):
    """The state file and all kdamonds are there; the first one as a kill between two steps leaves it."""
    first = KDAMONDS / "0"

    def empty_it(_):
        (first / "contexts/nr_contexts").write_text("0")

    def make_a_context(_):
        empty_it(_)
        (first / "contexts/nr_contexts").write_text("1")

    def mark_it(mark):
        make_a_context(mark)
        (first / "contexts/0/monitoring_attrs/intervals/update_us").write_text(mark)

    def name_no_process_yet(mark):
        mark_it(mark)
        (first / "contexts/0/targets/nr_targets").write_text("1")

    marks = []
    try:
        with sleeper("alice") as watched:
            for leave in (empty_it, None, make_a_context, None, mark_it, None, name_no_process_yet, None):
                with broker(run_dir, "--kdamonds", "2") as (process, path):
                    client = damonclient.Client(path)
                    answer = client.ask([watched])
                    assert answer.n == 1, answer
                    process.kill()
                    process.wait()
                assert states() == ["on", "off"]
                marks.append((first / "contexts/0/monitoring_attrs/intervals/update_us").read_text().strip())
                if leave:
                    (first / "state").write_text("off")
                    leave(marks[0])
    finally:
        slurm.run(f"{BROKER} --run-dir {run_dir} --clean", check=False)
    assert set(marks) == {marks[0]} and marks[0] != "1000000", marks
    assert number() == 0 and not (run_dir / "damon.state").exists()


def test_a_broker_waits_for_one_that_is_ending(run_dir):
    """That one does not listen any more, and has the lock until its kdamonds are gone."""
    run_dir.chmod(0o755)
    with (run_dir / "damon.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        process = subprocess.Popen([BROKER, "--run-dir", str(run_dir)], stderr=subprocess.PIPE, text=True)
        opened = slurm.wait_for(lambda: "damon.lock" in str(files_of(process.pid)), "the broker at the lock")
        assert opened and process.poll() is None
    try:
        assert process.stderr.read() == ""
        assert damonclient.Client(run_dir / "damon.sock").ask([]).number == 0
    finally:
        process.terminate()
        assert process.wait(slurm.PATIENCE) == 0


def test_reap_does_not_wait_for_a_broker_that_hangs():
    state_file = slurm.JOBS.parent / "damon.state"
    program, aside = Path(BROKER), Path(BROKER).with_suffix(".aside")
    slurm.run("hybridmem reap")
    program.rename(aside)
    try:
        program.write_text("#!/bin/sh\nexec sleep 100000007\n")
        program.chmod(0o755)
        state_file.write_text("what it hangs over")
        done = slurm.run("hybridmem reap")
        assert "killed after 5 s" in done.stderr
        assert not slurm.run("pgrep -f 'sleep 100000007'", check=False).stdout
    finally:
        aside.rename(program)
    slurm.run("hybridmem reap")
    assert not state_file.exists()


def test_reap_finds_what_a_dead_broker_left():
    run_dir = slurm.JOBS.parent
    slurm.run("hybridmem reap")
    with sleeper("alice") as watched:
        process = subprocess.Popen([BROKER, "--run-dir", str(run_dir)], stderr=subprocess.PIPE, text=True)
        try:
            assert process.stderr.read() == ""
            client = damonclient.Client(run_dir / "damon.sock")
            assert client.ask([watched]).n == 1
            slurm.run("hybridmem reap")  # it lives: nothing happens to it
            assert states().count("on") == 1
        finally:
            process.kill()
            process.wait()
        assert number() == 16
        slurm.run("hybridmem reap")
        assert number() == 0
        assert not (run_dir / "damon.state").exists()


def test_someone_elses_kdamonds_after_a_crash_are_not_taken_over(run_dir):
    with broker(run_dir, "--kdamonds", "2") as (process, path):
        client = damonclient.Client(path)
        assert client.ask([os.getpid()]).n == 1
        process.kill()
        process.wait()
    (KDAMONDS / "0" / "state").write_text("off")
    (KDAMONDS / "nr_kdamonds").write_text("0")
    (KDAMONDS / "nr_kdamonds").write_text("2")
    try:
        for k in "01":
            (KDAMONDS / k / "contexts" / "nr_contexts").write_text("1")
            (KDAMONDS / k / "contexts" / "0" / "targets" / "nr_targets").write_text("1")
        slurm.run(f"{BROKER} --run-dir {run_dir} --clean")
        assert number() == 2
    finally:
        (KDAMONDS / "nr_kdamonds").write_text("0")


def test_broker_ends_when_nobody_needs_it(run_dir):
    process = subprocess.Popen([BROKER, "--run-dir", str(run_dir), "--idle", "2"], stderr=subprocess.PIPE, text=True)
    assert process.stderr.read() == ""
    client = damonclient.Client(run_dir / "damon.sock")
    assert client.ask([]).number == 0 and number() == 16
    client.close()
    assert process.wait(slurm.PATIENCE) == 0
    assert number() == 0 and not (run_dir / "damon.sock").exists()


def test_second_broker_in_a_folder_and_users_are_refused(run_dir):
    with broker(run_dir):
        again = slurm.run(f"{BROKER} --run-dir {run_dir}", check=False)
        assert again.returncode == 1 and "another broker" in again.stderr
    assert "must run as root" in slurm.run(f"{BROKER} --run-dir {run_dir}", user="alice", check=False).stderr
    run_dir.chmod(0o777)
    assert "must belong to root" in slurm.run(f"{BROKER} --run-dir {run_dir}", check=False).stderr


def test_broker_keeps_few_capabilities(run_dir):
    with broker(run_dir) as (process, _):
        status = Path(f"/proc/{process.pid}/status").read_text()
        assert int(re.search(r"CapEff:\s+(\w+)", status)[1], 16) == 1 << 38 | 1 << 14  # CAP_PERFMON, CAP_IPC_LOCK
        assert int(re.search(r"CapBnd:\s+(\w+)", status)[1], 16) == 0


# More programs than CPUs: the emulator keeps every translation until a CPU changes to another program, and DAMON, which
# does not flush TLBs, sees an access only where a translation is made anew.
N_PROGRAMS = 4


def test_hot_tenth_is_found_and_the_cost_is_bounded(run_dir):
    with broker(run_dir) as (_, path), programs(N_PROGRAMS, 64) as running:
        client = damonclient.Client(path)
        answer = client.ask([one[0] for one in running], budget=40000)
        assert answer.n == N_PROGRAMS, answer
        where = [damonclient.anonymous_ranges(one[0]) for one in running]

        def all_found():
            lists = {one.process: one for one in client.wait_lists(N_PROGRAMS)}
            return len(lists) == N_PROGRAMS and all(
                damonclient.found(lists[p].regions, *running[p][3:]) > 0.7 for p in range(N_PROGRAMS)
            )

        slurm.wait_for(all_found, "the hot tenth of every program among the hottest regions")
        for one in client.lists:
            for region in one.regions:
                assert any(start <= region.start and region.end <= end for start, end in where[one.process]), region
        # Once the settings are found, the kernel thread stays within a quarter of its budget; the broker's own time
        # comes on top, and emulation is bursty: quiet, both together took 0.072 of a CPU.
        client.wait_lists(6 * N_PROGRAMS)
        before, begin = client.lists[-1].cpu_s, time.monotonic()
        client.wait_lists(10 * N_PROGRAMS)
        share = (client.lists[-1].cpu_s - before) / (time.monotonic() - begin)
        assert share < 3 * 0.04, share
        assert client.lists[-1].lost == 0


def test_program_that_ends_is_no_harm(run_dir):
    with broker(run_dir) as (process, path), sleeper("alice") as stays:
        gone = subprocess.Popen(["sleep", "100000"])
        client = damonclient.Client(path)
        assert client.ask([stays, gone.pid]).n == 2
        named = [stays, (gone.pid, damonclient.start_time(gone.pid))]
        gone.kill()
        gone.wait()
        assert client.ask(named, generation=2).n == 1
        assert process.poll() is None
