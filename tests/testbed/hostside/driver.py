# SPDX-License-Identifier: Apache-2.0
"""Boots a guest, runs a script in it, and brings back its output, status and files."""

import os
import selectors
import sys
import time

from . import accelerator, command, image, machine, meter, payload, qemu

# A guest boots in 10 to 70 s. Some hang meanwhile, with both virtual CPUs halted, and are started again: probably the
# kernel patches its own code (static keys), and QEMU without KVM runs that code half patched.
KERNEL_SECONDS = 120  # until testbed-init runs
BOOT_SECONDS = 270  # from then on; more than testbed-init waits for accounting and Slurm, so that its error comes first
STARTS = 3
# Time for the guest to end a script that ran too long, to send its last output (up to 120 s) and files, and to power
# off.
GRACE_SECONDS = 300
CONSOLE_LINES = 60
# How many ns of the guest's time an instruction takes, if QEMU computes that time from the number of instructions
# (-icount). The meter makes each instruction slow for the host, so a metered guest runs fewer of them in a second of
# its time.
INSTRUCTION_NS, METERED_INSTRUCTION_NS = 4, 8
EXIT_TIMEOUT = 124


class NeverUp(command.Failure):
    """The guest hangs while it boots."""


class Conversation:
    """The driver's side of a running guest: handles what comes from its ports, and its deadlines."""

    who, ready = "the guest", "node n1 is idle"  # what a message calls it, and what it means that it is ready

    def __init__(self, vm, timeout, verbose, counts):
        self.vm, self.timeout, self.verbose, self.counts = vm, timeout, verbose, counts
        self.console = b""
        self.lines = {"control": b"", "meter": b""}
        self.status = None
        self.started = time.monotonic()
        self.deadline = self.started + KERNEL_SECONDS
        self.phase = "kernel"

    def on_output(self, data):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    def on_console(self, data):
        self.console = (self.console + data)[-65536:]
        if self.verbose:
            sys.stderr.buffer.write(data)
            sys.stderr.buffer.flush()

    def _whole_lines(self, name, data):
        *lines, self.lines[name] = (self.lines[name] + data).split(b"\n")
        return [line.decode() for line in lines]

    def on_control(self, data):
        for line in self._whole_lines("control", data):
            word, _, rest = line.partition(" ")
            self.on_word(word, rest)

    def on_word(self, word, rest):
        """Handle a line of the guest's control port."""
        if word == "up":
            self.phase, self.deadline = "boot", time.monotonic() + BOOT_SECONDS
        elif word == "ready":
            command.say(f"{self.ready} after {time.monotonic() - self.started:.1f} s")
            self.phase, self.deadline = "script", time.monotonic() + self.timeout + GRACE_SECONDS
        elif word == "exit":
            self.phase, self.status = "end", int(rest)
            self.deadline = time.monotonic() + GRACE_SECONDS
        elif word == "failed":
            self.show_console()
            raise command.Failure(rest)

    def on_meter(self, data):
        for line in self._whole_lines("meter", data):
            name, _, ranges = line.partition(" ")
            answer = "ok"
            if name == meter.ASK:
                lines = self.counts.lines(ranges)
                answer = " ".join(f"{node}:{read}:{written}" for node, (read, written) in sorted(lines.items()))
            else:
                self.counts.mark(name, ranges)
            self.vm.sockets["meter"].sendall(f"{answer}\n".encode())

    def show_console(self):
        command.say(f"{self.who}'s console, last {CONSOLE_LINES} lines:")
        for line in self.console.decode(errors="replace").splitlines()[-CONSOLE_LINES:]:
            print("  " + line.rstrip(), file=sys.stderr)

    def hold(self):
        """Serve the guest until it powers off, or until its deadline has passed; return the script's status."""
        with selectors.DefaultSelector() as selector:
            for name, end in self.vm.sockets.items():
                selector.register(end, selectors.EVENT_READ, getattr(self, f"on_{name}"))
            while selector.get_map():
                left = self.deadline - time.monotonic()
                if left <= 0:  # a guest that only prints may hang, too
                    self.give_up()
                    break
                for key, _ in selector.select(left):
                    data = key.fileobj.recv(1 << 16)
                    if data:
                        key.data(data)
                    else:
                        selector.unregister(key.fileobj)
        return self.final_status()

    def final_status(self):
        if self.status is None:
            self.show_console()
            raise command.Failure(f"{self.who} ended in the phase '{self.phase}' without a status")
        return self.status

    def give_up(self):
        """Raise the failure of a guest that hangs, unless it has already told the script's status."""
        self.show_console()
        if self.phase == "end":
            command.say(f"{self.who} did not power off within {GRACE_SECONDS} s and was killed")
            return
        if self.phase == "kernel":
            raise NeverUp(f"{self.who}'s kernel did not start within {KERNEL_SECONDS} s")
        if self.phase == "boot":
            raise NeverUp(f"not within {BOOT_SECONDS} s: {self.ready}")
        raise command.Failure(f"{self.who} hangs and was killed", EXIT_TIMEOUT)


def _prepare(vm, options, brought):
    """Make QEMU's command line; return the disk for files from the guest."""
    shape = machine.SHAPES[options.shape]
    disk = image.disk(image.release_of_slurm(options.slurm), options.codes)
    accel = "counted" if options.meter else accelerator.choose(options.accel, disk, options.command)
    get_disk = payload.get_disk()
    words = [f"testbed.clock={accel}"]
    vm.add(*qemu.accelerator_arguments(accel), *machine.arguments(shape), *qemu.boot_arguments(disk, *words))
    if accel == "counted":
        vm.add(*qemu.clock_arguments(METERED_INSTRUCTION_NS if options.meter else INSTRUCTION_NS))
    vm.add("-drive", f"file={disk / 'disk.ext4'},if=virtio,format=raw,snapshot=on,cache=unsafe")
    vm.add("-drive", f"file={vm.share(brought)},if=virtio,format=raw,readonly=on")
    vm.add("-drive", f"id=get,file={vm.share(get_disk)},if=virtio,format=raw,cache=unsafe")
    vm.add("-device", "virtio-serial-pci,max_ports=4")  # as few as will do: QEMU watches each port for events
    command.say(f"starting Slurm {options.slurm} on shape {options.shape} under {accel}")
    return get_disk


def _run_once(options, brought):
    counts = meter.Meter(options.meter, not options.meter_marked, options.meter_lines) if options.meter else None
    with qemu.Qemu() as vm:
        get_disk = _prepare(vm, options, brought)
        for port in ("control", "output"):
            vm.add_port(port)
        vm.add_socket("console")
        vm.add("-serial", "chardev:console")
        if counts:
            vm.add_port("meter")
            vm.add("-plugin", counts.plugin_argument(vm))
        vm.add(*options.qemu_arg)
        vm.start()
        try:
            status = Conversation(vm, options.timeout, options.verbose, counts).hold()
        finally:
            if counts:
                counts.save()
    return bring_back(get_disk, options, status)


def bring_back(get_disk, options, status):
    """Copy out of the guest what the command's OPTIONS ask for; return the status for the shell, where the script's is
    STATUS."""
    missing = payload.unpack(get_disk, options.get)
    for path in missing:
        command.say(f"--get: the guest has no {path}")
    return status or (command.EXIT_TESTBED if missing else 0)


def run(options, brought):
    """Run options.script in a guest with the payload BROUGHT; return the status for the shell."""
    for _ in range(STARTS - 1):
        try:
            return _run_once(options, brought)
        except NeverUp as failure:
            command.say(f"{failure}: starting the guest again")
    return _run_once(options, brought)


def shell(options, brought):
    """Give the terminal to the console of a guest with the payload BROUGHT."""
    with qemu.Qemu() as vm:
        _prepare(vm, options, brought)
        vm.add("-chardev", f"file,id=control,path={os.devnull}")
        vm.add("-device", "virtserialport,chardev=control,name=control")
        vm.add("-chardev", "stdio,id=console,mux=on,signal=off", "-serial", "chardev:console", "-mon", "console")
        vm.add(*options.qemu_arg)
        vm.start(terminal=True)
        return vm.process.wait()
