# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem-memmode on a node whose mode an attribute of the BIOS switches. The board's Redfish service is the
tests' own (redfishservice.py); the kernel's part, the namespaces, is this machine's: there are none."""

import json
import os
import re
import select
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from bootnote import BootNote, came
from installed import LIBEXEC, PREFIX, check_root, helper, needs_memmode
from redfishservice import BIOS, PASSWORD, SETTINGS, SYSTEM, SYSTEMS, USER, Service, make_certificate

pytestmark = needs_memmode

UNIT = PREFIX / "lib" / "systemd" / "system" / "hybridmem-memmode.service"
BOARD = 'board "example" {{ manufacturer = "{}" model = "{}" attribute = {} flat = Flat cache = {} {} }}'


@pytest.fixture(scope="module")
def certificates():
    """One for localhost, one for another host; users may read them, as whoever asks the service is none of root's."""
    with tempfile.TemporaryDirectory(prefix="hm-redfish.", dir="/var/tmp") as name:
        Path(name).chmod(0o755)
        yield [make_certificate(Path(name), host, host) for host in ("localhost", "elsewhere.example.org")]


class Node:
    """A node, and its board."""

    def __init__(self, folder, configure, certificate):
        self.folder, self.configure, self.certificate = folder, configure, certificate
        self.service = Service(certificate)
        self.note = BootNote(folder)
        self.credentials = folder / "bmc"
        self.credentials.write_text(f"{USER}\n{PASSWORD}\n")
        self.credentials.chmod(0o600)
        self.set()

    def set(
        self, host="localhost", words="", manufacturer="Example Inc.", model="EX-94*", attribute="MemoryMode", **more
    ):
        service = f'redfish "https://{host}:{self.service.port}" {{ credentials = "{self.credentials}" '
        service += f"timeout = {more.get('timeout', '60s')} "
        service += (words or f'ca = "{self.certificate}"') + " }"
        board = BOARD.format(
            manufacturer, model, attribute, more.get("cache", "Cache"), more.get("mixed", "mixed = Hybrid")
        )
        folders = f"run_dir = {self.folder}/run\nstate_dir = {self.folder}/notes\n"
        self.config = self.configure(f"{folders}{service}\n{board}\n")

    def run(self, *words, status=0):
        return helper("hybridmem-memmode", *words, f"--config={self.config}", "--ipmctl=/nonexistent", status=status)

    def check(self, *words):
        return self.note.check(f"--config={self.config}", *words)

    def site_reboots(self):
        """The site has a program for reboots. Returns the file that it makes."""
        ran, program = self.folder / "rebooted", self.folder / "reboot"
        program.write_text(f"#!/bin/sh\ntouch {ran}\n")
        program.chmod(0o755)
        with self.config.open("a") as config:
            config.write(f"reboot_program = {program}\n")
        return ran

    def fails(self, *words, status=1):
        done = self.run(*words, status=status)
        assert done.stdout == "" and done.stderr.count("\n") == 1
        return done.stderr


@pytest.fixture
def board(configure, certificates):
    check_root()
    with tempfile.TemporaryDirectory(prefix="hm-redfish.", dir="/var/tmp") as name:
        made = Node(Path(name), configure, certificates[0])
        yield made
        made.service.end()


@pytest.mark.parametrize(("value", "mode"), [("Flat", "flat"), ("Cache", "cache"), ("Hybrid", "mixed")])
def test_the_active_feature_is_the_attribute_that_is_active(board, value, mode):
    """Not what is pending, and not what hybridmem has asked for."""
    board.service.active["MemoryMode"] = value
    board.service.pending["MemoryMode"] = "Hbm Only"
    assert board.run().stdout == f"memmode={mode}\n"
    assert board.service.changes() == []


@pytest.mark.parametrize(
    ("tells_all", "apply_times", "status"), [(True, None, 204), (False, ["OnReset"], 200), (True, ["Immediate"], 202)]
)
def test_a_mode_is_set_once_and_taken_back(board, tells_all, apply_times, status):
    service = board.service
    service.tells_all, service.apply_times, service.status = tells_all, apply_times, status
    assert board.run("memmode=cache").stdout == "" and service.pending == {"MemoryMode": "Cache"}
    told = next(words for words in service.asked if words[0] == "PATCH")
    assert ("@Redfish.SettingsApplyTime" in told[2]) == (apply_times == ["OnReset"])
    board.run("memmode=cache")
    assert service.changes() == ["Cache"]
    board.run("memmode=flat")
    assert service.changes() == ["Cache", "Flat"] and service.pending == {}
    assert not board.note.path.exists()


def test_a_board_with_a_value_for_mixed_is_made_mixed(board):
    board.run("memmode=mixed")
    assert board.service.pending == {"MemoryMode": "Hybrid"}
    board.note.age()
    board.service.boot()
    assert board.check() == came("mixed") and board.run().stdout == "memmode=mixed\n"
    board.set(mixed="")
    assert 'is "Hybrid", and the section board "example" of hybridmem.conf knows only' in board.fails()
    board.service.active["MemoryMode"] = "Flat"
    assert "the board's section in hybridmem.conf has no value for it: add mixed" in board.fails("memmode=mixed")


def test_the_boot_is_checked(board):
    board.run("memmode=cache")
    assert board.check()[::2] == (0, [])
    board.note.age()
    why = (
        "memmode=cache was asked for before the boot, and the node came back memmode=flat (BIOS attribute "
        'MemoryMode is "Flat"); a goal is still pending'
    )
    assert board.check("--node=n1")[1] == f"hybridmem memmode: {why}; node n1 is drained\n"
    assert "is_unsure yes" in board.note.path.read_text()  # until the next boot no namespace is made
    board.run("memmode=cache")
    board.note.age()
    board.service.boot()
    assert board.check() == came("cache") and not board.note.path.exists()


def as_the_unit(board):
    """The command, with the rights of the unit."""
    rights = re.search("^CapabilityBoundingSet=(.*)$", UNIT.read_text(), re.MULTILINE)[1].lower().replace("cap_", "+")
    words = ["setpriv", "--no-new-privs", f"--bounding-set=-all,{','.join(rights.split())}", "--inh-caps=-all"]
    return [*words, LIBEXEC / "hybridmem-memmode", f"--config={board.config}"]


def asks(service, path, asking):
    """Wait until the program has asked for this."""
    while ("GET", path) not in service.asked:
        assert asking.poll() is None
        time.sleep(0.01)


def children_of(process):
    return Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()


def test_the_rights_of_the_unit_suffice(board):
    done = subprocess.run(as_the_unit(board), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "memmode=flat\n", "")


def test_what_talks_to_the_service_ends_with_the_program(board):
    """Root with the rights of the unit may end a process of nobody's only with one right more."""
    board.service.odd[SYSTEM] = "hangs"
    with subprocess.Popen(as_the_unit(board)) as asking:
        asks(board.service, SYSTEM, asking)
        (child,) = children_of(asking)
        pidfd = os.pidfd_open(int(child))
        asking.kill()
    assert select.select([pidfd], [], [], 10)[0] == [pidfd]
    os.close(pidfd)


def test_a_node_reboots_once_its_mode_is_set(board):
    ran = board.site_reboots()
    assert "memmode=cache was asked for, and the pending goal is none" in board.fails("--reboot", "memmode=cache")
    board.run("memmode=cache")
    assert not ran.exists()
    board.run("--reboot", "memmode=cache")
    ran.unlink()


def test_a_node_with_another_board_reboots_as_ever(board):
    """Slurm has one program for all nodes."""
    board.set(model="EX-8*")
    ran = board.site_reboots()
    assert "no section board of hybridmem.conf is for this node's" in board.fails("--reboot", "memmode=cache")
    assert not ran.exists()
    board.run("--reboot")
    assert ran.exists()


def test_the_state_is_shown(board):
    board.service.pending["MemoryMode"] = "Hbm Only"
    text = board.run("memmode").stdout
    assert text.startswith("mode        flat\npending     other, from the next boot on\n")
    assert 'attribute   MemoryMode of the BIOS: now "Flat", at the next boot "Hbm Only"\n' in text
    shown = json.loads(board.run("memmode", "--json").stdout)
    assert shown["attribute"] == {"name": "MemoryMode", "value": "Flat", "next": "Hbm Only"}
    assert (shown["mode"], shown["modules"], shown["bytes"]) == ("flat", None, None)
    assert shown["prevents"] == {"flat": None, "cache": None, "mixed": None}


def test_a_busy_service_is_asked_again(board):
    board.service.busy = [503, 429]
    assert board.run().stdout == "memmode=flat\n" and board.service.asked[:3] == [("GET", SYSTEMS)] * 3
    board.set(timeout="1s")
    board.service.busy = [503] * 100
    assert "status 503: The service is temporarily unavailable." in board.fails()


def test_what_is_set_is_still_checked_for_a_change_by_others(board):
    """With an ETag in the body only; and one that is another by the time of the change."""
    board.service.tells_etag = False
    board.service.meddles = 1
    board.run("memmode=cache")
    assert board.service.changes() == ["Cache", "Cache"] and board.service.pending == {"MemoryMode": "Cache"}
    board.service.meddles = 100
    said = board.fails("memmode=flat", status=5)
    assert f"PATCH https://localhost:{board.service.port}{SETTINGS}: status 412: The ETag supplied did not" in said
    assert "set the attribute back in the BIOS set-up, or the next boot may change the node" in said


def test_a_service_that_ignores_a_change_is_noticed(board):
    board.service.ignores = True
    assert board.fails("memmode=cache") == (
        'hybridmem memmode: read back, the pending goal is none, not cache (BIOS attribute MemoryMode: now "Flat", '
        'next "Flat"); no goal is left pending\n'
    )
    assert not board.note.path.exists()


def test_a_change_that_shows_late_is_taken_back(board):
    board.service.shows_late = True
    assert "no goal is left pending" in board.fails("memmode=cache")
    board.service.boot()
    assert board.run().stdout == "memmode=flat\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"attribute": "HbmMode"}, f"{BIOS}: the BIOS has no attribute HbmMode"),
        ({"attribute": "ProcCoreDisable"}, f"{BIOS}: ProcCoreDisable is not a text"),
        (
            {"cache": "Cached"},
            f"{SETTINGS}: status 400: The value 'Cached' for the property MemoryMode is not acceptable.",
        ),
        ({"model": "EX-8*"}, 'for this node\'s manufacturer "Example Inc.", model "EX-9480"'),
        ({"manufacturer": "Example"}, "no section board of hybridmem.conf is for this node's manufacturer"),
    ],
)
def test_a_section_that_does_not_fit_the_board_is_named(board, words, said):
    board.set(**words)
    assert said in board.fails("memmode=cache")
    assert board.service.pending == {} and not board.note.path.exists()


def test_an_active_value_that_is_no_mode_is_named(board):
    board.service.active["MemoryMode"] = "Hbm Only"
    assert 'BIOS attribute MemoryMode is "Hbm Only", and the section board "example" of' in board.fails()


@pytest.mark.parametrize(
    ("path", "odd", "said"),
    [
        (SYSTEMS, 404, "status 404"),
        (SYSTEMS, 301, "status 301"),
        (SYSTEM, b"<html>", f"{SYSTEM}: the answer is no JSON: "),
        (SYSTEM, b"[1]", "the answer is no JSON object"),
        (SYSTEM, b"[" * 100000, "the answer is no JSON: "),
        (
            SYSTEM,
            b'{"Bios": {"@odata.id": "https://evil.example.org/"}}',
            'Bios is "https://evil.example.org/", no path',
        ),
        (BIOS, b"", "the answer is no JSON"),
        (BIOS, b" " * (2 << 20), f"{BIOS}: the answer has more than 1048576 bytes"),
        (BIOS, b'{"Attributes": {"MemoryMode": "' + b"x" * 64 + b'"}}', "is not a text of 1 to 63 characters"),
        (BIOS, b'{"Attributes": {"MemoryMode": "Flat"}}', "SettingsObject is missing"),
        (SETTINGS, b'{"Attributes": {"MemoryMode": "\\u001b[2J"}}', 'MemoryMode is "\\x1b[2J", no printable ASCII'),
        (SETTINGS, "hangs", f"{SETTINGS}: no whole answer within 1 s"),
        (SETTINGS, b'{"@odata.etag": "a\\r\\nX: y"}', '@odata.etag is "a\\r\\nX: y", which is no ETag'),
    ],
)
def test_answers_that_are_none_change_nothing(board, path, odd, said):
    if odd == "hangs":
        board.set(timeout="1s")
    board.service.odd[path] = odd
    assert said in board.fails("memmode=cache")
    assert board.service.changes() == [] and not board.note.path.exists()


def test_one_of_several_systems_has_to_be_named(board):
    board.service.members.append(f"{SYSTEMS}/Other")
    assert "there are 2 systems: name one with the word system" in board.fails()
    board.set(words=f'ca = "{board.certificate}" system = Self')
    assert board.run().stdout == "memmode=flat\n"


def test_the_service_has_to_be_the_one_that_is_meant(board, certificates):
    for words in (f'ca = "{certificates[1]}"', "verify = yes"):
        board.set(words=words)
        assert "SSL certificate problem" in board.fails()
    board.set(host="127.0.0.1")
    assert "127.0.0.1" in board.fails()
    assert board.service.asked == []
    board.set(host="127.0.0.1", words="verify = no")
    assert board.run().stdout == "memmode=flat\n"


def test_credentials_are_roots_alone(board):
    for mode in (0o640, 0o604):
        board.credentials.chmod(mode)
        assert f"{board.credentials} has mode {mode:04o}: nobody but root may read" in board.fails()
    board.credentials.chmod(0o600)
    board.credentials.write_text(f"{USER}\n")
    assert "has to have two lines: the user's name and the password" in board.fails()
    assert board.service.asked == []
    board.credentials.write_text(f"{USER}\nwrong\n")
    said = board.fails()
    assert "the service does not take these credentials (status 401)" in said and "wrong" not in said


def test_the_password_is_in_no_argument_nor_variable(board):
    """While a service hangs, all processes of the program are looked at."""
    board.set(timeout="5s")
    board.service.odd[SYSTEM] = "hangs"
    command = [LIBEXEC / "hybridmem-memmode", f"--config={board.config}"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as asking:
        asks(board.service, SYSTEM, asking)
        children = children_of(asking)
        assert len(children) == 1
        for pid in (str(asking.pid), *children):
            for name in ("cmdline", "environ"):
                assert b"hunter2" not in (Path("/proc") / pid / name).read_bytes()
        status = (Path("/proc") / children[0] / "status").read_text()
        assert "Uid:\t65534\t65534\t65534\t65534\n" in status and "CapPrm:\t0000000000000000\n" in status
        assert "hunter2" not in asking.stderr.read()


def test_no_file_gets_what_is_said_to_the_service(board):
    """Not even the keys of TLS, which a variable of the environment has libraries write."""
    board.folder.chmod(0o755)
    keys = board.folder / "keys"
    keys.touch()
    keys.chmod(0o666)
    command = [LIBEXEC / "hybridmem-memmode", f"--config={board.config}"]
    done = subprocess.run(command, env={"SSLKEYLOGFILE": str(keys)}, capture_output=True, text=True, check=False)
    assert (done.stdout, keys.read_text()) == ("memmode=flat\n", "")
