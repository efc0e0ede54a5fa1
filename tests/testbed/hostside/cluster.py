# SPDX-License-Identifier: Apache-2.0
"""Runs a script on the controller of a cluster: a guest with slurmctld and slurmdbd, and some guests that are nodes,
on a network of their own. A node can be killed, stopped and started again from the script, and when it resets, it comes
back with the memory layout that its firmware was told."""

import contextlib
import json
import os
import selectors
import subprocess
import time

from . import accelerator, cache, command, driver, image, machine, payload, qemu, switch

CONTROLLER = "ctl"
IMG = "qemu-img"
# The controller waits for nodes, one of which may hang in its kernel and be started again. With what a guest that is
# alone may take, this is more than testbed-init waits, so that its error comes first.
NODES_SECONDS = 360
KERNEL_WORDS = ("net.ifnames=0", "systemd.unit=multi-user.target")


class Guest(driver.Conversation):
    """A machine of the cluster, and the driver's side of it. Its disk and NVDIMMs outlive its QEMU."""

    def __init__(self, cluster, name):
        super().__init__(None, cluster.options.timeout, cluster.options.verbose, None)
        self.cluster, self.name = cluster, name
        self.who = name
        self.layout, self.goal = None, machine.DEFAULT_LAYOUT
        self.ignores = False  # the goal, at the next reset
        self.starts = 0  # since it was last ready
        self.is_reset = False
        self.get_disk = payload.get_disk() if self.is_controller else None
        self._disk = _overlay(cluster.disk_folder)
        self._nvdimms = []

    @property
    def is_controller(self):
        return self.name == CONTROLLER

    def _begin(self):
        """Set all that begins anew with a QEMU. Another layout of the memory takes what is on the NVDIMMs."""
        if self.ignores:
            self.ignores, self.goal = False, self.layout
        self.shape = machine.CONTROLLER if self.is_controller else machine.LAYOUTS[self.goal]
        if self.layout != self.goal:
            self.layout = self.goal
            self._nvdimms = [_memory(size) for size in self.shape.nvdimm_mib]
        self.ready = "all nodes are idle" if self.is_controller else f"{self.name} ({self.layout}) is ready"
        self.console, self.lines = b"", {name: b"" for name in ("control", "machine", "qmp")}
        self.started = time.monotonic()
        self.phase, self.deadline = "kernel", self.started + driver.KERNEL_SECONDS
        self.starts += 1
        self.is_reset = False

    def start(self):
        """Start the machine's QEMU, with the layout that is its goal."""
        self._begin()
        cluster, vm = self.cluster, qemu.Qemu()
        words = [f"testbed.machine={self.name}", f"testbed.layout={self.layout}", *KERNEL_WORDS]
        vm.add(*qemu.accelerator_arguments(cluster.accel), *qemu.boot_arguments(cluster.disk_folder, *words))
        vm.add(*machine.arguments(self.shape, [vm.share(memory) for memory in self._nvdimms]))
        # When the power fails, what the guest has synced has to be on the disk. With cache=unsafe QEMU's own tables of
        # it would be lost with the process.
        vm.add("-drive", f"file={vm.share(self._disk)},if=virtio,format=qcow2,cache=writeback")
        vm.add("-drive", f"file={vm.share(cluster.brought)},if=virtio,format=raw,readonly=on")
        if self.get_disk:
            vm.add("-drive", f"file={vm.share(self.get_disk)},if=virtio,format=raw,cache=unsafe")
        vm.add("-device", "virtio-serial-pci,max_ports=4")
        for port in ("control", "machine", *(["output"] if self.is_controller else [])):
            vm.add_port(port)
        vm.add_socket("console")
        vm.add("-serial", "chardev:console")
        vm.add_socket("qmp")
        vm.add("-mon", "chardev=qmp,mode=control")
        frames, theirs = cluster.switch.plug(self.name)
        vm.add(*qemu.network_arguments(vm.hand_over(theirs), cluster.names.index(self.name)))
        vm.add(*cluster.options.qemu_arg)
        vm.start()
        self.vm = vm
        self.tell_qemu("qmp_capabilities")
        cluster.watch(self, frames)

    def tell_qemu(self, word):
        self.vm.sockets["qmp"].sendall(json.dumps({"execute": word}).encode() + b"\n")

    def end(self):
        """End the machine, as if its power failed."""
        if self.vm:
            self.cluster.forget(self)
            self.vm.__exit__()
            self.vm = None

    def on_word(self, word, rest):
        super().on_word(word, rest)
        if word == "up" and self.is_controller:
            self.deadline += NODES_SECONDS
        elif word == "ready":
            self.starts = 0
            if not self.is_controller:
                self.deadline = float("inf")

    def on_qmp(self, data):
        for line in self._whole_lines("qmp", data):
            said = json.loads(line)
            if said.get("event") == "SHUTDOWN" and said["data"]["reason"] == "guest-reset":
                self.is_reset = True

    def on_machine(self, data):
        """Answer `testbed-machine`."""
        for line in self._whole_lines("machine", data):
            answer = self.cluster.obey(*line.split()) if self.is_controller else self._firmware(*line.split())
            self.vm.sockets["machine"].sendall(answer.encode() + b"\n")

    def _firmware(self, word="", layout="", *_):
        """Answer what a node asks its firmware: "goal LAYOUT" sets the layout after the next reset, "show" tells the
        present one and the goal, and after "ignore" the next reset drops the goal."""
        if word == "show":
            return f"ok {self.layout} {self.goal}"
        if word == "ignore":
            self.ignores = True
            return "ok"
        if word != "goal" or layout not in machine.LAYOUTS:
            return f"'{word} {layout}' is not: show, ignore, goal {', goal '.join(machine.LAYOUTS)}"
        self.goal = layout
        return "ok"

    def on_end(self):
        """QEMU has ended by itself."""
        code = self.vm.process.wait()
        with contextlib.suppress(OSError):
            for name, end in self.vm.sockets.items():  # what it has said last
                while data := end.recv(1 << 16):
                    getattr(self, f"on_{name}")(data)
        was_reset = self.is_reset
        self.end()
        if b"Kernel panic" in self.console:
            self.show_console()
            raise command.Failure(f"the kernel of {self.name} has died")
        if self.is_controller:
            self.cluster.is_over = True
        elif was_reset:
            command.say(f"{self.name} resets")
            self.start()
        elif code:
            raise command.Failure(f"QEMU of {self.name} ended with status {code}")

    def on_deadline(self):
        """Start a machine that hangs while it boots again, at most some times; otherwise see Conversation."""
        try:
            self.give_up()
        except driver.NeverUp as failure:
            if self.starts >= driver.STARTS:
                raise
            command.say(f"{failure}: starting {self.name} again")
            self.end()
            self.start()
        else:
            self.cluster.is_over = True


class Cluster:
    """The guests, by name, and the loop that serves them."""

    def __init__(self, options, brought):
        self.options, self.brought = options, brought
        self.disk_folder = image.disk(image.release_of_slurm(options.slurm), options.codes)
        # Guests that talk to each other need one clock, and counted time is each guest's own (README.md).
        self.accel = "kvm" if accelerator.choose(options.accel, self.disk_folder, options.command) == "kvm" else "tcg"
        self.selector = selectors.DefaultSelector()
        self.switch = switch.Switch()
        self.names = [CONTROLLER, *(f"n{number}" for number in range(1, options.nodes + 1))]
        self.guests = {name: Guest(self, name) for name in self.names}
        self.is_over = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for guest in self.guests.values():
            guest.end()

    def watch(self, guest, frames):
        for name, end in guest.vm.sockets.items():
            self.selector.register(end, selectors.EVENT_READ, (guest, guest.vm, getattr(guest, f"on_{name}")))
        self.selector.register(frames, selectors.EVENT_READ, (guest, guest.vm, None))

    def forget(self, guest):
        for key in [key for key in self.selector.get_map().values() if key.data[0] is guest]:
            self.selector.unregister(key.fileobj)
        self.switch.unplug(guest.name)

    def obey(self, word="", name="", *_):
        """Do what the controller wants of the node NAME; return "ok" or an error."""
        guest = self.guests.get(name)
        if not guest or guest.is_controller:
            return f"there is no node '{name}'"
        if word == "boot" and not guest.vm:
            guest.start()
        elif word == "kill" and guest.vm:
            guest.end()
        elif word in ("stop", "cont") and guest.vm:
            guest.tell_qemu(word)
        else:
            return f"cannot {word} {name}, which is {'on' if guest.vm else 'off'}"
        return "ok"

    def _serve(self, key):
        guest, vm, handle = key.data
        if guest.vm is not vm:  # it has ended since the selector looked
            return
        if not handle:
            self.switch.on_frames(guest.name)
            return
        data = b""
        with contextlib.suppress(ConnectionError):
            data = key.fileobj.recv(1 << 16)
        if data:
            handle(data)
        else:
            self.selector.unregister(key.fileobj)
            if key.fileobj is guest.vm.sockets["qmp"]:  # closes when QEMU ends
                guest.on_end()

    def hold(self):
        """Serve the guests until the controller powers off, or until its deadline has passed; return the script's
        status."""
        for guest in self.guests.values():
            guest.start()
        controller = self.guests[CONTROLLER]
        while not self.is_over:
            running = [guest for guest in self.guests.values() if guest.vm]
            left = min(guest.deadline for guest in running) - time.monotonic()
            for key, _ in self.selector.select(max(0, left)):
                self._serve(key)
            for guest in running:
                if guest.vm and guest.deadline <= time.monotonic():
                    guest.on_deadline()
        return controller.final_status()


def _overlay(folder):
    """Return a nameless file with a disk of a machine's own on top of the release's."""
    file = cache.nameless_file()
    words = ["create", "-q", "-f", "qcow2", "-b", folder / "disk.ext4", "-F", "raw", f"/dev/fd/{file.fileno()}"]
    subprocess.run([IMG, *words], check=True, pass_fds=[file.fileno()])
    return file


def _memory(mib):
    """Return a file in memory for an NVDIMM's content."""
    file = os.fdopen(os.memfd_create("nvdimm"), "r+b")
    file.truncate(mib << 20)
    return file


def run(options, brought):
    """Run options.script on the controller of a cluster with the payload BROUGHT; return the status for the shell."""
    with Cluster(options, brought) as cluster:
        command.say(f"starting Slurm {options.slurm} on {options.nodes} nodes under {cluster.accel}")
        status = cluster.hold()
        return driver.bring_back(cluster.guests[CONTROLLER].get_disk, options, status)
