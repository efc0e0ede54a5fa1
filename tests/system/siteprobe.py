# SPDX-License-Identifier: Apache-2.0
"""The probe of tests/cli, whose allocation sites are known, and profiles of it."""

import json
from pathlib import Path

import slurm
from test_isolate import by_node

SOURCE = Path(__file__).parents[1] / "cli" / "sites-probe.c"
MIB = slurm.MIB
HOT = {2: 750, 8: 250}  # accesses to the sites that the probe uses, by their MiB; it has one of each size up to 8 MiB
ALL = sum(range(1, 9))
STORE = slurm.home("alice") / ".local/share/hybridmem/profiles"


def accesses_of_probe(site):
    return HOT.get(site["peak_bytes"] // MIB, 0) if site["frames"] else 0


def give_accesses(path, number_of=accesses_of_probe, change=lambda _: None):
    """Outside of profiled jobs the guest's kernel lets users take no samples, and the probe is too short for many: the
    profile gets the accesses that it makes, and does not say what it had touched so far."""
    made = json.loads(path.read_text())
    made["sampling"].update(source="clock", why=None, samples=1000, elsewhere=0, lost=0)
    made["resident_peak_bytes"] = None
    for site in made["sites"]:
        number = number_of(site)
        site.update(reads=number, writes=0, accesses=number, samples=number, confidence={"low": 0, "high": 1})
        site["resident"] = None
        change(site)
    path.write_text(json.dumps(made))


def make():
    """The probe and its profile, in a folder of alice's. Callers of one function that allocates are its sites."""
    program = slurm.folder_of("alice") / "probe"
    slurm.run(f"gcc -O2 -pthread -o {program} {SOURCE}", user="alice")
    profile = program.with_suffix(".json")
    slurm.run(f"srun -n1 --hybrid-mem=off hybridmem sites run -o {profile} -- {program} hot 0", user="alice")
    give_accesses(profile)
    return program, profile


def pid_of(program, least=ALL * MIB):
    """The program's process, once it has all of its memory."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if (path / "exe").readlink() == program and sum(by_node(path.name).values()) >= least:
                return int(path.name)
        except OSError:
            continue  # it has ended, or is the kernel's
    return None


def hot_sites(profile):
    return {site["id"] for site in profile["sites"] if site["frames"] and site["peak_bytes"] / MIB in HOT}
