# SPDX-License-Identifier: Apache-2.0
"""Tests how a DAMON broker ends, killed or not: it leaves nothing behind, and touches no kdamonds of others."""

import fcntl
import os
import subprocess
from pathlib import Path

import damonclient
import pytest
import slurm
from damonbroker import BROKER, KDAMONDS, broker, kill_while, number, one_is_on, sleeper, states, write
from processes import descriptors_of


def test_killed_broker_leaves_nothing_for_long(run_dir):
    with sleeper("alice") as watched:
        with broker(run_dir) as (process, path):
            client = damonclient.Client(path)
            assert client.ask([watched]).n == 1
            kill_while(process, one_is_on)
        with broker(run_dir) as (_, path):
            assert states().count("on") == 0
            assert damonclient.Client(path).ask([watched]).n == 1
        # A broker that is killed and has no successor is cleaned up as well.
        with broker(run_dir) as (process, path):
            client = damonclient.Client(path)
            assert client.ask([watched]).n == 1
            kill_while(process, one_is_on)
        slurm.run(f"{BROKER} --run-dir {run_dir} --clean")
        assert number() == 0


def test_wherever_a_broker_is_killed_the_next_one_knows_what_is_its_own(run_dir):
    """A state file and all kdamonds are left; the first kdamond is in a state that a kill between two steps can
    leave. A broker knows its kdamonds by a mark: a value of update_us that it has chosen."""
    first = KDAMONDS / "0"

    def empty_it(_):
        write(first / "contexts/nr_contexts", "0")

    def make_a_context(_):
        empty_it(_)
        write(first / "contexts/nr_contexts", "1")

    def mark_it(mark):
        make_a_context(mark)
        write(first / "contexts/0/monitoring_attrs/intervals/update_us", mark)

    def name_no_process_yet(mark):
        mark_it(mark)
        write(first / "contexts/0/targets/nr_targets", "1")

    marks = []
    try:
        with sleeper("alice") as watched:
            # None: kdamond 0 stays as the kill has left it, watching.
            for leave in (empty_it, None, make_a_context, None, mark_it, None, name_no_process_yet, None):
                with broker(run_dir, "--kdamonds", "2") as (process, path):
                    client = damonclient.Client(path)
                    answer = client.ask([watched])
                    assert answer.n == 1, answer
                    kill_while(process, one_is_on)
                assert states() == ["on", "off"]
                marks.append((first / "contexts/0/monitoring_attrs/intervals/update_us").read_text().strip())
                if leave:
                    write(first / "state", "off")
                    leave(marks[0])
    finally:
        slurm.run(f"{BROKER} --run-dir {run_dir} --clean", check=False)
    assert set(marks) == {marks[0]} and marks[0] != "1000000", marks
    assert number() == 0 and not (run_dir / "root" / "node" / "damon.state").exists()


def test_a_broker_waits_for_one_that_is_ending(run_dir):
    """A broker that is ending does not listen any more, but holds the lock until its kdamonds are gone."""
    run_dir.chmod(0o755)
    with (run_dir / "damon.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        process = subprocess.Popen([BROKER, "--run-dir", str(run_dir)], stderr=subprocess.PIPE, text=True)
        opened = slurm.wait_for(lambda: "damon.lock" in str(descriptors_of(process.pid)), "the broker at the lock")
        assert opened and process.poll() is None
    try:
        assert process.stderr.read() == ""
        assert damonclient.Client(run_dir / "damon.sock").ask([]).number == 0
    finally:
        process.terminate()
        assert process.wait(slurm.PATIENCE) == 0


def clean_pids():
    return slurm.run("pgrep -f 'hybridmem-damon .*--clean'", check=False).stdout


def reap_to_the_end():
    """Run `hybridmem reap`. Where it says that its 5 s were over, wait until the process that it has killed is gone
    with its lock, and run it again."""

    def is_done():
        said = slurm.run("hybridmem reap").stderr
        if "killed after 5 s; the next reap goes on" in said:
            slurm.wait_for(lambda: not clean_pids(), "the end of what the reap has killed")
            return False
        assert "cannot clear up after a dead DAMON broker" not in said, said
        return True

    slurm.wait_for(is_done, "a reap that is done within its 5 s")


def test_reap_does_not_wait_for_a_broker_that_hangs():
    state_file = slurm.JOBS.parent / "root" / "node" / "damon.state"
    program, aside = Path(BROKER), Path(BROKER).with_suffix(".aside")
    slurm.run("hybridmem reap")
    program.rename(aside)
    try:
        program.write_text("#!/bin/sh\nexec sleep 100000007\n")
        program.chmod(0o755)
        state_file.write_text("any text")
        done = slurm.run("hybridmem reap")
        assert "killed after 5 s" in done.stderr
        slurm.wait_for(lambda: not slurm.run("pgrep -f 'sleep 100000007'", check=False).stdout, "its end")
    finally:
        aside.rename(program)
    reap_to_the_end()
    assert not state_file.exists()


@pytest.mark.parametrize("is_old", [False, True], ids=["this version", "an earlier version"])
def test_reap_finds_what_a_dead_broker_left(is_old):
    run_dir = slurm.JOBS.parent
    node, old_file = run_dir / "root" / "node", run_dir / "damon.state"
    slurm.run("hybridmem reap")
    with sleeper("alice") as watched:
        process = subprocess.Popen([BROKER, "--run-dir", str(run_dir)], stderr=subprocess.PIPE, text=True)
        try:
            assert process.stderr.read() == ""
            client = damonclient.Client(run_dir / "damon.sock")
            assert client.ask([watched]).n == 1
            slurm.run("hybridmem reap")  # the broker lives: reap leaves it alone
            kill_while(process, one_is_on)
        finally:
            process.kill()
            process.wait()
        assert number() == 16
        if is_old:
            (node / "damon.state").rename(old_file)
            (node / "damon.start").unlink()  # what says that nothing is at the old place any more
        reap_to_the_end()
        assert number() == 0
        assert not (node / "damon.state").exists() and not old_file.exists()


def test_someone_elses_kdamonds_after_a_crash_are_not_taken_over(run_dir):
    with broker(run_dir, "--kdamonds", "2") as (process, path):
        client = damonclient.Client(path)
        assert client.ask([os.getpid()]).n == 1
        kill_while(process, one_is_on)
    write(KDAMONDS / "0" / "state", "off")
    write(KDAMONDS / "nr_kdamonds", "0")
    write(KDAMONDS / "nr_kdamonds", "2")
    try:
        for k in "01":
            write(KDAMONDS / k / "contexts" / "nr_contexts", "1")
            write(KDAMONDS / k / "contexts" / "0" / "targets" / "nr_targets", "1")
        slurm.run(f"{BROKER} --run-dir {run_dir} --clean")
        assert number() == 2
    finally:
        write(KDAMONDS / "nr_kdamonds", "0")


def asked(run_dir, idle_s):
    """Start a broker that ends when nobody needs it, and a client that asks it. Returns (broker's process, client), or
    None where the broker ended before it was asked."""
    words = [BROKER, "--run-dir", str(run_dir), "--idle", str(idle_s)]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    assert process.stderr.read() == ""
    try:
        client = damonclient.Client(run_dir / "damon.sock")
        if answer := client.ask([]):
            assert answer.number == 0 and number() == 16
            return process, client
    except OSError:
        pass
    assert process.wait(slurm.PATIENCE) == 0
    return None


def test_broker_ends_when_nobody_needs_it(run_dir):
    process, client = slurm.wait_for(lambda: asked(run_dir, 2), "a broker that does not end before it is asked")
    client.close()
    assert process.wait(slurm.PATIENCE) == 0
    assert number() == 0 and not (run_dir / "damon.sock").exists()
