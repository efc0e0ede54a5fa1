# SPDX-License-Identifier: Apache-2.0
"""A made-up /sys with counters that tests move, and a meter that reads it on command."""

import contextlib
import json
import os
import subprocess

from installed import LIBEXEC

METER = LIBEXEC / "hybridmem-meter"
RANGE = 262143328850  # max_energy_range_uj of a Xeon
NOBODY = 65534


def as_user():
    """Options of subprocess. Where root runs the tests, the process gets another user, as root can read everything."""
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}


class Sysfs:
    def __init__(self, folder):
        self.folder = folder

    def write(self, path, line):
        """Writes a line into a file that the meter may keep open: in one write, and without truncating the file. So
        a line that replaces another must be as long."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT, 0o644)
        os.pwrite(descriptor, f"{line}\n".encode(), 0)
        os.close(descriptor)
        return file

    def zone(self, path, name, energy_uj, most=RANGE):
        """Makes a zone of powercap. Returns a function that sets its counter."""
        zone = f"class/powercap/{path}"
        self.write(f"{zone}/name", name)
        self.write(f"{zone}/max_energy_range_uj", most)

        def move(energy_uj):
            return self.write(f"{zone}/energy_uj", f"{energy_uj:012}")

        move(energy_uj)
        return move

    def event(self, pmu, pmu_type, name, terms):
        device = f"bus/event_source/devices/{pmu}"
        self.write(f"{device}/type", pmu_type)
        self.write(f"{device}/cpumask", 0)
        self.write(f"{device}/format/event", "config:0-7")
        self.write(f"{device}/events/{name}", terms)

    def undescribed(self, pmu, pmu_type, terms, modalias):
        """Makes a PMU without named events, on a processor whose event codes are known. The codes go to config1, which
        the kernel's software events ignore: if `pmu_type` is theirs, the CPU clock is counted in place of the
        events."""
        device = f"bus/event_source/devices/{pmu}"
        self.write(f"{device}/type", pmu_type)
        self.write(f"{device}/cpumask", 0)
        for number, term in enumerate(terms):
            self.write(f"{device}/format/{term}", f"config1:{8 * number}-{8 * number + 7}")
        self.write("devices/system/cpu/modalias", modalias)

    def bytes_of_group(self, name, value):
        """Sets a counter of the default resctrl group: a number, or a text of the kernel, such as "Unavailable". Both
        have eleven characters."""
        text = value if isinstance(value, str) else f"{value:011}"
        return self.write(f"fs/resctrl/mon_data/mon_L3_00/{name}", text)

    @contextlib.contextmanager
    def meter(self, *words, **options):
        """Starts a meter. Yields a function that makes it read, and returns the flows by name."""
        process = subprocess.Popen(
            [METER, "--step", "--json", "--sysfs", self.folder, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )

        def step():
            process.stdin.write("\n")
            process.stdin.flush()
            shown = json.loads(process.stdout.readline())
            return {flow["name"]: flow for flow in shown["energy"] + shown["traffic"]}

        try:
            yield step
            assert process.communicate(timeout=20) == ("", "")
            assert process.returncode == 0
        finally:
            process.kill()
            process.communicate()


def sources(sysfs, **options):
    """The sources that hybridmem meter lists, by name. The exit status must agree with them."""
    command = [METER, "--list", "--json", "--sysfs", sysfs.folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.stderr == ""
    shown = json.loads(done.stdout)["sources"]
    assert done.returncode == (0 if any(source["usable"] for source in shown) else 1)
    return {source["name"]: source for source in shown}
