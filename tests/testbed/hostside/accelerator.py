# SPDX-License-Identifier: Apache-2.0
"""Chooses KVM or emulation. KVM is tried first, as /dev/kvm may exist and still hang or abort."""

import selectors
import time
from pathlib import Path

from . import cache, command, qemu

PROBE_SECONDS = 10
PROOF = b"testbed: user space runs"


def _kvm_boots(image):
    """Boot the guest's kernel up to its first program under KVM."""
    with qemu.Qemu() as probe:
        probe.add(*qemu.accelerator_arguments("kvm"), *qemu.boot_arguments(image, "testbed.probe"), "-m", "512M")
        probe.add_socket("console")
        probe.add("-serial", "chardev:console")
        probe.start(quiet=True)
        seen, deadline = b"", time.monotonic() + PROBE_SECONDS
        console = probe.sockets["console"]
        with selectors.DefaultSelector() as selector:
            selector.register(console, selectors.EVENT_READ)
            while PROOF not in seen and selector.select(max(0, deadline - time.monotonic())):
                data = console.recv(65536)
                if not data:
                    break
                seen += data
        return PROOF in seen


# What is used if KVM does not work. In "counted" emulation the guest's clock follows its instructions and jumps over
# waits (README.md, "Counted time"). "tcg" is emulation with the host's clock: a person in a shell works in real time.
EMULATION = {"run": "counted", "shell": "tcg"}


def choose(wanted, image, purpose):
    """Return "kvm", "tcg" or "counted". `purpose` is what the guest is for: "run" (a script) or "shell". "auto" probes
    KVM once per boot of the host and remembers the verdict."""
    if wanted != "auto":
        return wanted
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    verdict = cache.folder() / "kvm" / boot
    with cache.lock("kvm", "waiting for another run that tries KVM"):
        if not verdict.exists():
            works = Path("/dev/kvm").exists() and _kvm_boots(image)
            cache.remove(verdict.parent)
            verdict.parent.mkdir(exist_ok=True)
            verdict.write_text("kvm" if works else "emulated")
            command.say("KVM works here" if works else "KVM does not work here: the guest is emulated")
        return "kvm" if verdict.read_text() == "kvm" else EMULATION[purpose]
