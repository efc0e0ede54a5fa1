# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem trace, with a program whose accesses are known."""

import os
import re
import resource
import signal
import subprocess
import time
from pathlib import Path

import pytest
from installed import LEAKS, LIBEXEC, helper
from replaying import COLUMNS, replay

TRACE = LIBEXEC / "hybridmem-trace"
WRITTEN, HOT = 100, 5  # pages, as in trace-probe.c
PATHS = {"PATH": os.environ["PATH"]}
SPACE = 1 << 36  # pages of a process


class Probe:
    """The program, and where its two arrays are."""

    def __init__(self, folder):
        self.path = folder / "probe"
        source = Path(__file__).parent / "trace-probe.c"
        words = ["-O1", "-Wall", "-static", "-no-pie", "-o", self.path, source]
        subprocess.run(["gcc", *words], check=True)
        names = subprocess.run(["nm", self.path], capture_output=True, text=True, check=True).stdout
        self.written, self.hot = (
            int(re.search(rf"^(\w+) B {name}$", names, re.MULTILINE)[1], 16) >> 12 for name in ("written", "hot")
        )

    def counts(self, rows, process=0):
        """Sums by page of a process, in all phases: of the written pages, and of the hot ones."""
        sums = {}
        for _, page, *counts in rows:
            sums[page] = [a + b for a, b in zip(sums.get(page, [0] * 4), counts, strict=True)]
        return [
            [sums.get(process * SPACE + first + i) for i in range(n)]
            for first, n in ((self.written, WRITTEN), (self.hot, HOT))
        ]

    def has_all(self, rows, process=0):
        """Has the trace all loads and stores of a process?"""
        written, hot = self.counts(rows, process)
        return [counts and counts[:2] for counts in written + hot] == [[0, 10]] * WRITTEN + [[1000, 0]] * HOT


@pytest.fixture(scope="module")
def probe(tmp_path_factory):
    return Probe(tmp_path_factory.mktemp("probe"))


def record(trace, *words, status=7, options=(), **more):
    return helper("hybridmem-trace", "-o", trace, *options, "--", *words, status=status, env=PATHS, **more)


def read(path):
    """The header's lines by their keys, and the rows."""
    header, rows = path.read_text().split(COLUMNS)
    keys = {}
    for line in header.splitlines():
        key, value = re.fullmatch(r"# (\w+): (.*)", line).groups()
        keys.setdefault(key, []).append(value)
    columns = (line.split(",") for line in rows.splitlines())
    return keys, [(int(phase), int(page, 16), *map(int, counts)) for phase, page, *counts in columns]


def test_counts_are_the_programs(probe, tmp_path):
    """All lines fit into the cache: each is read once, and none is written back."""
    record(tmp_path / "t", probe.path, "-o", "x", "--cache", options=["--phase-accesses", "1000"])
    keys, rows = read(tmp_path / "t")
    written, hot = probe.counts(rows)
    assert written == [[0, 10, 1, 0]] * WRITTEN
    assert hot == [[1000, 0, 1, 0]] * HOT
    assert keys["app"] == ["probe"]
    assert keys["command"] == [f"{probe.path} -o x --cache"]
    assert keys["ended_by"] == ["exit status 7"]
    assert keys["process"] == [
        f"pages from 0 on, pid {keys['process'][0].split()[5].strip(',')}, {probe.path} -o x --cache"
    ]
    assert "left_out" not in keys and "not_understood" not in keys
    sums = [sum(column) for column in list(zip(*rows, strict=True))[2:]]
    assert sums == [int(keys[name][0]) for name in ("raw_reads", "raw_writes", "mem_reads", "mem_writes")]
    phases = [sum(r + w for phase, _, r, w, _, _ in rows if phase == number) for number in range(rows[-1][0] + 1)]
    assert set(phases[:-1]) == {1000} and 0 < phases[-1] <= 1000
    assert [row[:2] for row in rows] == sorted({row[:2] for row in rows})


def test_the_cache_has_the_size_that_is_asked_for(probe, tmp_path):
    """With eight lines, each write of the hundred pages reads a line, and writes another one back later."""
    record(tmp_path / "t", probe.path, options=["--cache", "512"])
    keys, rows = read(tmp_path / "t")
    written, _ = probe.counts(rows)
    assert keys["cache"][0].startswith("512 bytes, 8 ways,")
    assert [counts[:3] for counts in written] == [[0, 10, 10]] * WRITTEN
    assert all(9 <= counts[3] <= 10 for counts in written)
    assert probe.has_all(rows)


def test_a_trace_can_be_replayed(probe, tmp_path):
    record(tmp_path / "t", probe.path)
    record(tmp_path / "t.zst", probe.path)
    _, rows = read(tmp_path / "t")
    assert (tmp_path / "t.zst").read_bytes()[:4] == b"\x28\xb5\x2f\xfd"
    plain, packed = (replay(tmp_path / name, "--fast", "50%", "--period", "100") for name in ("t", "t.zst"))
    assert plain["app"] == packed["app"] == "probe"
    assert plain["pages"] == packed["pages"] == len({page for _, page, *_ in rows})
    assert plain["phase_accesses"] == 5000000
    assert plain["static_oracle"]["share_mem"] >= plain["first_touch"]["share_mem"] > 0


def test_processes_have_numbers_of_their_own(probe, tmp_path):
    record(tmp_path / "t", probe.path, "fork")
    keys, rows = read(tmp_path / "t")
    parent, child = keys["process"]
    assert parent.endswith(f", {probe.path} fork") and child.endswith(", forked")
    assert child.startswith("pages from 1000000000 on, pid ")
    assert probe.has_all(rows, 0) and probe.has_all(rows, 1)


def test_a_program_that_closes_all_is_followed_over_exec(probe, tmp_path):
    """Valgrind's descriptor is one that the program can neither close nor replace: else Valgrind would write to the
    program's standard error, or into its file."""
    victim = tmp_path / "victim"

    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300))

    done = record(tmp_path / "t", probe.path, "exec", 299, victim, preexec_fn=limit)
    keys, rows = read(tmp_path / "t")
    assert (done.stdout, done.stderr, victim.read_text()) == ("", "", "")
    commands = [process.split(", ", 2)[2] for process in keys["process"]]
    assert f"{probe.path} exec 299 {victim}".startswith(commands[0]) and commands[1:] == [f"{probe.path} again"]
    assert probe.has_all(rows, 0) and probe.has_all(rows, 1)


def test_the_program_has_its_input_and_output(probe, tmp_path):
    done = record(tmp_path / "t", probe.path, "echo", input="one\ntwo\n")
    assert (done.stdout, done.stderr) == ("one\ntwo\n", "to standard error\n")


def test_a_program_that_is_killed_leaves_a_trace(probe, tmp_path):
    record(tmp_path / "t", probe.path, "die", status=-signal.SIGKILL)
    keys, rows = read(tmp_path / "t")
    assert keys["ended_by"] == ["signal 9"]
    assert probe.has_all(rows)


def test_signals_reach_the_program(probe, tmp_path):
    command = [TRACE, "-o", tmp_path / "t", probe.path, "wait"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={**PATHS, **LEAKS}) as process:
        assert process.stdout.readline() == b"ready\n"
        process.terminate()
        assert process.wait() == 9
    assert read(tmp_path / "t")[0]["ended_by"] == ["exit status 9"]


def test_a_signal_ends_the_wait_for_processes_that_stay(probe, tmp_path):
    """The program has ended, but not its child."""
    command = [TRACE, "-o", tmp_path / "t", probe.path, "leave"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env={**PATHS, **LEAKS}, **pipes) as process:
        assert process.stdout.readline() == "ready\n"
        while Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text():
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.wait() == 7
        assert process.communicate()[1] == (  # this ends the child's input
            "hybridmem trace: stopped by a signal; processes of the program still run, and are not in the trace to "
            "their end\n"
        )
    keys, rows = read(tmp_path / "t")
    assert keys["stopped"] == ["by a signal, while processes of the program still ran"]
    assert probe.has_all(rows)


def test_whoever_ignores_the_end_of_children_gets_the_exit_status(probe, tmp_path):
    record(tmp_path / "t", probe.path, preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))


def test_without_a_trace_the_file_stays_as_it_was(probe, tmp_path):
    old = tmp_path / "t"
    old.write_text("old")
    done = record(old, "no-such-program", status=127)
    assert done.stderr == "hybridmem trace: no-such-program: there is no such program in PATH\n"
    done = record(old, tmp_path, status=126)
    assert done.stderr == f"hybridmem trace: {tmp_path} cannot be run: Permission denied\n"
    done = helper("hybridmem-trace", "-o", old, probe.path, status=125, env={"PATH": str(tmp_path)})
    assert done.stderr == (
        "hybridmem trace: Valgrind is needed, and is not in PATH: install the package valgrind, or load its module\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["t"] and old.read_text() == "old"


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ([], 2, "-o is missing: name the trace, as in: hybridmem trace -o app.trace.zst -- ./app"),
        (["-o", "t"], 2, "the program is missing: give one, as in: hybridmem trace -o app.trace.zst -- ./app"),
        (["-o", "", "touch", "ran"], 2, '--output: "" names nothing: name a file or folder, or leave --output out'),
        (["-o"], 2, "option '-o' requires an argument. Try 'hybridmem trace --help'."),
        (["-x"], 2, "unrecognized option '-x'. Try 'hybridmem trace --help'."),
        (["-o", "no/t", "touch", "ran"], 125, "no/t: No such file or directory"),
        (["-o", "/dev/null", "touch", "ran"], 125, "/dev/null: it is no regular file: name one, as in app.trace.zst"),
        (
            ["--cache", "1000", "-o", "t", "touch", "ran"],
            2,
            '--cache: "1000" is not the size of a cache: use 512 to 1G, a multiple of 512',
        ),
        (
            ["--phase-accesses", "0", "-o", "t", "touch", "ran"],
            2,
            '--phase-accesses: "0" is not a number of 1 to 400000000',
        ),
    ],
)
def test_wrong_words_are_told_before_the_program_runs(tmp_path, words, status, said):
    done = helper("hybridmem-trace", *words, status=status, env=PATHS, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("", f"hybridmem trace: {said}\n")
    assert list(tmp_path.iterdir()) == []


def fake(folder, *lines):
    """A Valgrind that says these lines and ends with status 4. Returns an environment in which it is found."""
    program = folder / "bin" / "valgrind"
    program.parent.mkdir()
    said = "".join(f"{line}\n" for line in lines)
    program.write_text(
        "#!/bin/bash\n"
        "for word; do case $word in --log-fd=*) fd=${word#*=} ;; esac; done\n"
        f"cat >&$fd <<'END'\n{said}END\nexit 4\n"
    )
    program.chmod(0o755)
    return {"PATH": f"{program.parent}:/usr/bin:/bin"}


def test_what_is_missing_in_a_trace_is_told(tmp_path):
    env = fake(
        tmp_path,
        "==1== Lackey, an example Valgrind tool",
        " M 1fff8,8",
        "==1== valgrind: Unrecognised instruction at address 0x10.",
        "lackey: assertion failed",
        " S 1000000000000,8",
    )
    done = helper("hybridmem-trace", "-o", tmp_path / "t", "true", status=4, env=env)
    assert done.stderr.splitlines() == [
        "hybridmem trace: Valgrind: Unrecognised instruction at address 0x10.",
        "hybridmem trace: Valgrind: lackey: assertion failed",
        "hybridmem trace: loads and stores that are not in the trace: 1; it has room for 1024 processes, and addresses "
        "below 2^48",
        "hybridmem trace: lines of Valgrind's that were not understood: 1; counts may lack what they say",
    ]
    keys, rows = read(tmp_path / "t")
    assert rows == [(0, 0x1F, 1, 1, 1, 0)]
    assert keys["left_out"][0].startswith("1 ") and keys["not_understood"][0].startswith("1 ")


def test_a_valgrind_that_shows_nothing_leaves_no_trace(tmp_path):
    done = helper("hybridmem-trace", "-o", tmp_path / "t", "true", status=125, env=fake(tmp_path, "==1== "))
    assert done.stderr == "hybridmem trace: no trace: Valgrind has shown no load or store of true\n"
    assert not (tmp_path / "t").exists()


def test_a_trace_that_cannot_be_written_is_no_success(probe, tmp_path):
    """The program runs to its end; the file is larger than it may be."""

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    done = record(tmp_path / "t", probe.path, "echo", status=125, input="one\n", preexec_fn=limit)
    assert done.stdout == "one\n"
    assert done.stderr == f"to standard error\nhybridmem trace: {tmp_path}/t: File too large\n"
    assert list(tmp_path.iterdir()) == []
