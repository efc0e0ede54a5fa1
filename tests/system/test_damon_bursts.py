# SPDX-License-Identifier: Apache-2.0
"""Tests the DAMON broker where looks that never stop are blind, so that it looks in bursts: at which memory, for how
much CPU time, and what is left of it where it is killed meanwhile."""

import os
import time
from itertools import pairwise

import damonclient
import slurm
from damonbroker import KDAMONDS, broker, kill_while, number, one_is_on, programs, states

MIB = 4  # 64 blocks or more (probing.h): too many for one burst within the budget
BUDGET = 0.003  # of a CPU
# After a burst the broker waits for half of what the budget wants, or more: the wait is of random length. The budget is
# twice as much in the first two minutes of the client, which is the test itself.
MOST_SHARE = 2 * 2 * BUDGET
INTERVAL_MS = 1000
BURSTS = 1  # the way of looking that a list tells (wire.h)
FEW = ("--kdamonds", "2")


def n_targets():
    return sum(int(path.read_text()) for path in KDAMONDS.glob("*/contexts/0/targets/nr_targets"))


def is_between_bursts():
    return "on" not in states() and n_targets() == 1


def watch(path, pid, memory):
    client = damonclient.Client(path)
    answer = client.ask([pid], budget=round(BUDGET * 1e6), interval_ms=INTERVAL_MS, ranges=[memory])
    assert answer.n == 1, answer
    return client


def wait_for_list(client, is_it):
    """Waits until the broker has sent a list of which is_it() is true. Returns when that was, and the list."""

    def is_there():
        assert client.receive(slurm.PATIENCE) is not None, "the broker has closed"
        return client.lists and is_it(client.lists[-1])

    slurm.wait_for(is_there, "a list", every=0)
    return time.monotonic(), client.lists[-1]


def test_bursts_keep_to_the_memory_and_the_budget_and_outlive_no_broker(run_dir):
    with programs(2, MIB, "sweep") as running:
        pid, *memory = running[0][:3]
        for one in running:
            os.sched_setaffinity(one[0], {0})  # DAMON only sees what is translated anew (test_damon.py)
        with broker(run_dir, *FEW) as (process, path):
            client = watch(path, pid, memory)
            begin, first = wait_for_list(client, lambda one: one.way == BURSTS)
            end, last = wait_for_list(client, lambda one: one.rounds > first.rounds)
            lists = [one for one in client.lists if one.way == BURSTS and one.rounds == first.rounds]
            assert len(lists) > 1
            # Together, the regions of a round are the memory: each part of it is in one of them.
            regions = sorted(region for one in lists for region in one.regions)
            assert [regions[0].start, regions[-1].end] == memory
            assert all(region.end == following.start for region, following in pairwise(regions)), regions
            assert (last.cpu_s - first.cpu_s) / (end - begin) < MOST_SHARE
            kill_while(process, one_is_on)
        with broker(run_dir, *FEW) as (process, path):
            assert (states(), n_targets()) == (["off", "off"], 0)
            client = watch(path, pid, memory)
            kill_while(process, is_between_bursts)
        with broker(run_dir, *FEW):
            assert (states(), n_targets()) == (["off", "off"], 0)
    assert number() == 0
