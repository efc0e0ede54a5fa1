# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem-memmode with the real ipmctl, to which a made-up platform is played (ipmctlplay.py). The program
starts a script in ipmctl's place, which loads the recording for the command and for the state that the platform is in,
and then becomes ipmctl. tests/setup fetches ipmctl from Debian 12, as later releases have none."""

import json
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from bootnote import BootNote
from installed import check_root, helper, needs_memmode
from ipmctlplay import COMMANDS, Platform, recording

pytestmark = needs_memmode

FETCH = Path(__file__).resolve().parents[1] / "lib" / "fetch-ipmctl"
SCRIPT = """#!/bin/sh
export LD_LIBRARY_PATH={program}
cd {folder} && echo "$*" >> calls || exit 99
case "$*" in
{cases}
*) exit 99 ;;
esac
{program}/ipmctl load -source {folder}/$(cat state)-$name.pbr -session > /dev/null &&
    {program}/ipmctl start -session -mode playback_manual -tag 0 > /dev/null || exit 99
[ $name != flat ] && [ $name != cache ] && [ $name != mixed ] || echo goal > state
[ $name != delete ] || echo none > state
exec {program}/ipmctl "$@"
"""
UNDONE = (
    "hybridmem memmode: ipmctl create -goal {}PersistentMemoryType=AppDirect: Create region configuration goal on "
    "PMem module 0x0001: Error 188 - Unable to initialize namespace labels.; no goal is left pending\n"
)


class Played:
    """A node whose platform is played. Its state is whether a goal is pending: after a creation one is, for Memory
    Mode, as the platform has no other goal."""

    def __init__(self, folder, program, configure):
        self.folder, self.script = folder, folder / "ipmctl"
        self.config = configure(f"run_dir = {folder}/run\nstate_dir = {folder}/notes\nmemmode_mixed = 50%")
        self.note = BootNote(folder)
        cases = "\n".join(f'"{words}") name={name} ;;' for name, words in COMMANDS.items())
        self.script.write_text(SCRIPT.format(program=program, folder=folder, cases=cases))
        self.script.chmod(0o700)
        (folder / "calls").write_text("")

    def becomes(self, **what):
        platform = Platform(**what)
        (self.folder / "state").write_text("goal" if platform.goal else "none")
        for name in COMMANDS:
            for state in ("goal", "none"):
                played = recording(name, replace(platform, goal=state == "goal"))
                (self.folder / f"{state}-{name}.pbr").write_bytes(played)

    def run(self, *words, status=0):
        first, rest = (words[:1], words[1:]) if words[:1] == ("memmode",) else ((), words)
        program = [*first, f"--config={self.config}", f"--ipmctl={self.script}", *rest]
        return helper("hybridmem-memmode", *program, status=status)

    def changes(self):
        calls = (self.folder / "calls").read_text().splitlines()
        return [call.split()[0] for call in calls if not call.startswith("show")]


@pytest.fixture(scope="module")
def ipmctl():
    """The folder of the real one."""
    subprocess.run([FETCH], check=True)
    return subprocess.run([FETCH, "--print-path"], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def played(ipmctl, configure):
    """ipmctl gets a /tmp of its own, so the script and the recordings are elsewhere."""
    check_root()
    with tempfile.TemporaryDirectory(prefix="hm-ipmctl.", dir="/var/tmp") as name:
        yield Played(Path(name), ipmctl, configure)


@pytest.mark.parametrize("mode", ["flat", "cache", "mixed"])
@pytest.mark.parametrize("goal", [False, True])
def test_the_real_ipmctl_tells_the_mode_and_the_goal(played, mode, goal):
    played.becomes(cached=mode == "cache", mixed=mode == "mixed", goal=goal)
    assert played.run().stdout == f"memmode={mode}\n"
    shown = json.loads(played.run("memmode", "--json").stdout)
    assert (shown["mode"], shown["pending"], shown["modules"]) == (mode, "cache" if goal else None, 2)
    memory, cache = {"flat": (0, 0), "cache": (252 << 30, 32 << 30), "mixed": (126 << 30, 32 << 30)}[mode]
    use = {"memory": memory, "app_direct": (252 << 30) - memory, "dram_cache": cache}
    assert shown["bytes"] == {"physical": 252 << 30, "inaccessible": 0, **use}


def test_a_goal_is_set_and_read_back(played):
    """The kernel of this machine shows no regions. So only modules that are in no mode can be asked for the cache."""
    played.becomes(unused=True)
    assert played.run().stdout == "memmode=flat\n"
    assert played.run("memmode=cache").stdout == ""
    assert played.run("memmode=cache").stdout == ""
    assert played.changes() == ["create"]
    shown = json.loads(played.run("memmode", "--json").stdout)
    assert (shown["mode"], shown["pending"], shown["bytes"]["inaccessible"]) == ("flat", "cache", 252 << 30)


def test_the_real_ipmctl_tells_whether_the_firmware_did_it(played):
    for came in ({"cached": True}, {}, {"unused": True}):
        played.becomes(unused=True)
        played.run("memmode=cache")
        played.note.age()
        played.becomes(**came)
        status, said, _told = played.note.check(f"--config={played.config}", f"--ipmctl={played.script}")
        assert status == (0 if "cached" in came else 4), said
        assert ("with no module in use" in said) == ("unused" in came)


@pytest.mark.parametrize(("mode", "share"), [("flat", ""), ("mixed", "MemoryMode=PERCENT ")])
@pytest.mark.parametrize("goal", [False, True])
def test_a_goal_that_a_module_refuses_is_undone(played, goal, mode, share):
    """ipmctl ends with 0 all the same. A goal that was pending before is deleted first."""
    played.becomes(cached=True, goal=goal)
    assert played.run(f"memmode={mode}", status=1).stderr == UNDONE.format(share)
    assert played.changes() == [*(["delete"] if goal else []), "create", "delete"]
    assert json.loads(played.run("memmode", "--json").stdout)["pending"] is None


def test_the_way_back_deletes_the_goal(played):
    played.becomes(goal=True)
    assert played.run("memmode=flat").stdout == ""
    assert played.changes() == ["delete"]
    assert json.loads(played.run("memmode", "--json").stdout)["pending"] is None


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ({"allows_cache": False}, "the firmware does not allow Memory Mode (AllowedVolatileMode has no 2LM)"),
        ({"configures": False}, "the firmware takes no goals from software (PlatformConfigSupported is not 1)"),
        ({"ill": True}, 'PMem module 0x0011 has the health state "Critical failure"'),
    ],
)
def test_what_the_platform_does_not_allow_is_refused(played, what, said):
    played.becomes(**what)
    assert said in played.run("memmode=cache", status=1).stderr
    assert played.changes() == []


def test_a_machine_without_modules(played, ipmctl):
    """The real ipmctl on this machine itself, without a recording."""
    played.script.write_text(f'#!/bin/sh\nexport LD_LIBRARY_PATH={ipmctl}\nexec {ipmctl}/ipmctl "$@"\n')
    assert played.run(status=1).stderr == (
        "hybridmem memmode: ipmctl show -memoryresources: Initialization failed. No PMem modules in the system.\n"
    )
