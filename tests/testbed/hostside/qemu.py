# SPDX-License-Identifier: Apache-2.0
"""Runs a QEMU process: its command line, its sockets, and its end."""

import ctypes
import shutil
import signal
import socket
import subprocess

QEMU = "qemu-system-x86_64"
PR_SET_PDEATHSIG = 1

# Words for the kernel's command line. Most turn off what an emulated, short-lived guest can do without.
KERNEL_WORDS = (
    "console=ttyS0 quiet panic=-1 "
    "oops=panic "  # after an oops the guest dies, and the driver says so; if it went on, some test would fail
    "cgroup_no_v1=all mitigations=off nokaslr audit=0 no_timer_check "
    "random.trust_cpu=on systemd.unified_cgroup_hierarchy=1 "
    "tsc=reliable "  # QEMU's TSC is reliable; without this the kernel reads the HPET, a device, for each time of day
    "damon_stat.enabled=N "  # in the newest kernels it would keep others from using DAMON (admin guide)
    "cryptomgr.notests=1 "  # the kernel's tests of its own ciphers are a third of a boot's instructions
    "init_on_alloc=0 hardened_usercopy=0 randomize_kstack_offset=0 psi=0"  # a thirtieth of a guest's CPU time
)
# QEMU without KVM runs "rep stosb" and "rep movsb" byte by byte, and saves a large AVX state at each change of the
# task. With these features of the CPU turned off, a guest takes an eighth less CPU time. Linux 7 uses AVX wherever the
# CPU names it, also without XSAVE.
EMULATED_CPU = "max,la57=off,xsave=off,avx=off,erms=off,fsrm=off"
ACCELERATORS = {
    "kvm": ("-accel", "kvm", "-cpu", "host"),
    "tcg": ("-accel", "tcg,thread=multi,tb-size=512", "-cpu", EMULATED_CPU),
    "counted": ("-accel", "tcg,thread=single,tb-size=512", "-cpu", EMULATED_CPU),
}


def accelerator_arguments(accelerator):
    return ACCELERATORS[accelerator]


def clock_arguments(instruction_ns):
    """Arguments for counted time: each instruction takes so many ns, a power of two, of the guest's time. When all
    CPUs wait, the guest's clock jumps to its next timer."""
    return "-icount", f"shift={instruction_ns.bit_length() - 1},sleep=off"


def network_arguments(socket_number, machine_number):
    """Arguments for a network card at the socket of a switch; machines of a network have different numbers."""
    return (
        "-netdev",
        f"dgram,id=net,local.type=fd,local.str={socket_number}",
        "-device",
        f"virtio-net-pci,netdev=net,mac=52:54:00:00:00:{machine_number:02x},romfile=",
    )


def boot_arguments(image, *words):
    """Return the arguments that boot the kernel and initrd of an image folder, with WORDS on the kernel's command
    line."""
    return [
        "-nodefaults",
        "-display",
        "none",
        "-no-reboot",
        "-no-user-config",
        "-kernel",
        str(image / "vmlinuz"),
        "-initrd",
        str(image / "initrd"),
        "-append",
        " ".join([KERNEL_WORDS, *words]),
    ]


def die_with_parent():
    """Runs in the child: QEMU must not outlive its driver, however the driver ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Qemu:
    """QEMU, with a socket for each device of add_socket(); a context manager that leaves no process behind."""

    def __init__(self):
        self.arguments = []
        self.sockets = {}
        self._inherited = []
        self.process = None

    def add(self, *words):
        self.arguments += map(str, words)

    def add_socket(self, name):
        """Add a character device NAME; its other end is self.sockets[NAME]."""
        ours, theirs = socket.socketpair()
        self.sockets[name] = ours
        self.add("-chardev", f"socket,id={name},fd={self.hand_over(theirs)}")

    def hand_over(self, end):
        """Let QEMU have the socket END, which is closed here when QEMU starts; return its number for QEMU."""
        self._inherited.append(end)
        return end.fileno()

    def add_port(self, name):
        """Add a virtio-serial port NAME with a socket; needs a virtio-serial device before it."""
        self.add_socket(name)
        self.add("-device", f"virtserialport,chardev={name},name={name}")

    def share(self, file):
        """Let QEMU open FILE, which may be without a name; return a path that QEMU can use."""
        self._inherited.append(file)
        return f"/dev/fd/{file.fileno()}"

    def __enter__(self):
        return self

    def start(self, terminal=False, quiet=False):
        """Start QEMU. With TERMINAL it uses our terminal; else it is in a session of its own, so Ctrl-C does not reach
        it. With QUIET its error output is dropped."""
        self.process = subprocess.Popen(
            [QEMU, *self.arguments],
            pass_fds=[item.fileno() for item in self._inherited],
            stdin=None if terminal else subprocess.DEVNULL,
            stdout=None if terminal else subprocess.DEVNULL,
            stderr=subprocess.DEVNULL if quiet else None,
            start_new_session=not terminal,
            preexec_fn=die_with_parent,
        )
        for item in self._inherited:
            if isinstance(item, socket.socket):
                item.close()

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for ours in self.sockets.values():
            ours.close()


def environment_check(*programs):
    """Return an error text where one of QEMU's PROGRAMS is missing, else None."""
    missing = [program for program in programs if not shutil.which(program)]
    return f"{missing[0]} is not installed: run tests/setup" if missing else None
