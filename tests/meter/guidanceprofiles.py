# SPDX-License-Identifier: Apache-2.0
"""The profiles by which tests/bench/guidance chooses sites of programs: where they are, and how they are made. `given`
has the bench's options."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests/testbed"))
from hostside import image  # noqa: E402

MBI = "mbi without error"
KINDS = ("guest", "processor", "mbi", "exact", MBI, "stale")
OTHER_INPUT = ("lammps", "hpcc", "elk", "sqlite")  # as in tests/system/otherinputs.py
# Programs that can be run by `mbi`, as they end by themselves when they have done what they are told
ISOLATED = ("lammps", "hpcc", "elk", "sqlite", "igraph", "scipy")
NATIVELY = {"processor": [], "stale": ["other"]}  # more words for tests/lib/guidance-natively


def path_of(kind, name, given):
    return given.output / kind / name / "profile.json"


def wanted(kind, names, given):
    """The programs whose profile is to be made. What an earlier run has left of it is removed, as what is copied out of
    a guest is added to what is there."""
    names = [name for name in names if not (given.keep and path_of(kind, name, given).exists())]
    for name in names:
        shutil.rmtree(path_of(kind, name, given).parent, ignore_errors=True)
    return names


def run_guest(given, meter, *words):
    """Run a guest that counts by the meter; return its script's status."""
    command = [TOP / "tests/testbed/guest", "run", "--codes", "--slurm", given.slurm, "--timeout", "36000"]
    command += ["--put", f"{TOP}/tests:/opt/hybridmem/tests", "--put", f"{TOP}/helpers:/opt/hybridmem/helpers"]
    command += ["--meter", given.output / meter, "--meter-marked"]
    return subprocess.run([*command, *words], check=False).returncode


def record(names, given):
    """Record the programs, and run what else is wanted."""
    (given.output / "guest/runs.json").unlink(missing_ok=True)  # of an earlier run, whose marks the meter's file had
    words = ["--get", f"/tmp/guidance:{given.output}/guest", "--meter-lines", given.output / "lines"]
    words += [TOP / "tests/lib/guidance-in-guest", ",".join(given.run) or "-", *names]
    return run_guest(given, "meter.json", *words)


def isolate(names, given):
    """Run the programs once for each group of their sites, as `hybridmem profile mbi` has them."""
    words = ["--get", f"/tmp/mbi:{given.output}/mbi", TOP / "tests/lib/mbi-in-guest", given.alone, *names]
    return run_guest(given, "mbi.json", *words)


def profile_here(kind, name, given):
    """Profile a program on this machine's own processor; return the command's exit status."""
    release = image.release_of_slurm(given.slurm)
    command = [TOP / "tests/testbed/root", "--codes", "--output", path_of(kind, name, given).parent, release]
    command += ["/opt/hybridmem/tests/lib/guidance-natively", name, str(given.runs), *NATIVELY[kind]]
    return subprocess.run(command, check=False).returncode


def make(given):
    """Make the profiles: with --keep, those that the output lacks. Yield what was made, and the exit status."""
    for kind, names, how in (("guest", given.program, record), ("mbi", given.mbi, isolate)):
        if names := wanted(kind, names, given):
            yield f"the guest's script for {kind}", how(names, given)
    for kind in NATIVELY:
        for name in wanted(kind, given.program, given):
            if given.runs and (kind == "processor" or name in OTHER_INPUT):
                yield f"{name}: its profile {kind}", profile_here(kind, name, given)


def write_exact(run, sampled, path):
    """A profile with the lines of each site in place of its samples; those that were not seen have none."""
    lines, profile = run.by_site(), json.loads(sampled.read_text())
    for site in profile["sites"]:
        if site["class_bytes"] is None:
            count = lines.get(site["id"], 0)
            site.update(reads=count, writes=0, accesses=count, samples=count, confidence=None)
            if site["slices"]:
                step, known = site["slices"]["step_bytes"] or 0, site["slices"]["accesses"]
                site["slices"].update(accesses=run.by_slice(site["id"], step, len(known)), samples=count)
    profile["sampling"].update(samples=run.total, elsewhere=max(0, run.total - sum(lines.values())), lost=0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(profile))


def write_mbi(exact, sampled, path):
    """What bandwidth isolation would measure of the same run without error, and with each site alone: the lines of the
    site. Of its parts there are the samples alone, as `hybridmem profile mbi merge` keeps them."""
    profile = json.loads(exact.read_text())
    for site, known in zip(profile["sites"], json.loads(sampled.read_text())["sites"], strict=True):
        site.update(samples=None, slices=known["slices"])
    profile["sampling"].update(source="mbi", samples=None)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(profile))


def write_without_classes(measured, path):
    """A profile that was measured, without what it has of size classes: which memory is theirs a recorded run does not
    tell, so that they would take room and serve nothing."""
    profile = json.loads(measured.read_text())
    for site in profile["sites"]:
        if site["class_bytes"] is not None:
            profile["sampling"]["elsewhere"] += site["accesses"] or 0
            site.update(reads=None, writes=None, accesses=None)
    path.write_text(json.dumps(profile))


def of_run(name, run, given):
    """The profiles of a program by their kinds, with those that are computed of its recorded run."""
    paths = {kind: path_of(kind, name, given) for kind in KINDS}
    write_exact(run, paths["guest"], paths["exact"])
    write_mbi(paths["exact"], paths["guest"], paths[MBI])
    if paths["mbi"].exists():
        paths["mbi"] = paths["mbi"].with_name("sites.json")
        write_without_classes(path_of("mbi", name, given), paths["mbi"])
    return {kind: path for kind, path in paths.items() if path.exists()}
