# SPDX-License-Identifier: Apache-2.0
"""Tests the profiles that jobs leave and that others are guided by, and the migrator where there is none, or a wrong
one."""

import json
import re
import shutil
from pathlib import Path

import knownsites
import migration
import pytest
import siteprobe
import slurm
import stepmigrators
from migration import FAST, SLOW
from siteprobe import ALL, HOT, MIB, SOURCE, STORE, give_accesses, hot_sites, pid_of
from test_isolate import by_node

pytestmark = pytest.mark.usefixtures("no_job_of_alices_is_left")

# The record's `profile`, where no rate was asked for; the guest's source takes samples by time.
SAMPLED = dict.fromkeys(("file", "reason", "plan", "run", "period", "rate_reason", "unsampled")) | {"method": "sample"}


@pytest.fixture(scope="module")
def probe():
    return siteprobe.make()


LEAST_SAMPLES = 500
MOST_OUTSIDE = 3  # of 20 that are 95 % sure: more are in one of 60 profiles


def test_shares_by_sampling_are_within_their_stated_confidence():
    """Of 20 sites, which are callers of one function that allocates for all."""
    program = knownsites.build("alice")
    path = program.with_suffix(".json")
    words = f"hybridmem sites run --overhead 10% -o {path} -- {program} {knownsites.KNOWN}"
    truth = knownsites.truth(slurm.run(words).stdout)
    profile = json.loads(path.read_text())
    found = knownsites.found(profile, truth)
    assert profile["sampling"]["source"] == "clock"
    outside = []
    for size, accesses in truth.items():
        share, bounds = accesses / sum(truth.values()), found[size]["confidence"]
        print(f"{share:.4f} {found[size]['samples']} {bounds}")
        outside += [size] if not bounds["low"] <= share <= bounds["high"] else []
    assert profile["sampling"]["samples"] >= LEAST_SAMPLES, "else the bounds say nothing"
    assert len(outside) <= MOST_OUTSIDE, outside


@pytest.fixture
def unkept():
    """A build of the probe that has no profile yet, and nothing of it afterwards."""
    folder = slurm.folder_of("alice")
    program = folder / "unkept"
    slurm.run(f"gcc -O2 -pthread -Wl,--build-id=uuid -o {program} {SOURCE}", user="alice")
    return program


def store(program):
    """Where alice's profiles of this build are kept."""
    notes = slurm.run(f"readelf -n {program}").stdout
    return STORE / notes.split("Build ID:")[1].split()[0]


def test_a_profiled_job_leaves_a_profile_that_the_next_is_guided_by(unkept):
    """Both tasks of the step are in one profile; the job's script, which has no build-id, is in none. When the next job
    runs, a newer profile of another input is there, too."""
    words = "--hybrid-mem=profile,overhead=1%,input=large"
    job_id = slurm.sbatch("alice", f"srun -n2 {unkept} hot 0", words, "-n2")
    slurm.wait_job(job_id)
    record = slurm.record(job_id)
    path = store(unkept) / f"{job_id}.0.json"
    why = record["profile"].pop("unsampled")  # by DAMON, which a busy machine gives the time for a look
    assert record["profile"] | {"unsampled": None} == SAMPLED | {"file": str(path)}
    assert record["exit_code"] == 0 and record["plan"]["mode"] == "profile" and record["guided"] is None
    profile = json.loads(path.read_text())
    assert profile["sampling"]["samples"] if why is None else why.startswith("damon took no sample in "), why
    assert profile["processes"] == 2 and profile["program"]["command"] == f"{unkept} hot 0"
    assert {site["peak_bytes"] // MIB for site in profile["sites"] if site["frames"]} >= set(range(1, 9))
    assert f"profile      {path}" in slurm.run(f"hybridmem show {job_id}", user="alice").stdout
    assert profile["program"]["input_class"] == "large"
    give_accesses(path)
    newer = json.loads(path.read_text())
    newer["program"]["input_class"] = "small"
    path.with_name("newer.json").write_text(json.dumps(newer))
    words = f"--hybrid-mem=guided,input=large,fast={sum(HOT)}M,packer=knapsack"
    guided = slurm.sbatch("alice", f"srun -n1 {unkept} hot 0", words)
    slurm.wait_job(guided)
    record = slurm.record(guided)
    assert record["guided"]["input"] == "large"
    assert record["guided"]["profile"] == str(path) and set(record["guided"]["sites"]) == hot_sites(profile)
    assert record["guided"]["reason"] is None and record["profile"] is None and record["exit_code"] == 0


def test_each_program_of_a_multi_prog_step_has_its_profile(unkept):
    """Slurm tells plugins the configuration of such a step, and not which program a task has."""
    other = unkept.with_name("other")
    slurm.run(f"gcc -O2 -pthread -Wl,--build-id=uuid -o {other} {SOURCE}", user="alice")
    tasks = unkept.with_name("tasks")
    tasks.write_text(f"# one each\n0 {unkept} hot 0\n* ./{other.name} hot %o\n")
    words = f"--chdir={other.parent} --hybrid-mem=profile"
    job_id = slurm.sbatch("alice", f"srun -n2 --multi-prog {words} {tasks}", "-n2")
    slurm.wait_job(job_id)
    paths = [store(program) / f"{job_id}.0.json" for program in (unkept, other)]
    record = slurm.record(job_id)
    assert record["profile"]["file"] in map(str, paths) and record["profile"]["reason"] is None, record["profile"]
    for path, program in zip(paths, (unkept, f"{other.parent}/./{other.name}"), strict=True):
        made = json.loads(path.read_text())
        assert (made["program"]["command"], made["processes"]) == (str(program), 1)
        give_accesses(path)
    words = f"--chdir={other.parent} --hybrid-mem=guided"
    job_id = slurm.sbatch("alice", f"srun -n2 --multi-prog {words} {tasks}", "-n2")
    slurm.wait_job(job_id)
    record = slurm.record(job_id)
    assert record["exit_code"] == 0 and record["guided"]["reason"] is None, slurm.output(job_id)
    assert record["guided"]["profile"] in map(str, paths) and not record["warnings"]


@pytest.fixture
def shared():
    """A folder that root alone writes to, as the site's store of profiles."""
    folder = Path("/srv/shared-profiles")
    folder.mkdir(mode=0o755)
    with slurm.configured(f'{slurm.CONFIG.read_text()}profile_dir = "{folder}"\n'):
        yield folder
    shutil.rmtree(folder)


def test_a_profile_that_the_site_shares_guides_a_user_who_has_none(unkept, shared):
    """Bob has a copy of alice's program. What he has himself goes first."""
    program = slurm.folder_of("bob") / "program"
    shutil.copy(unkept, program)
    made = unkept.with_suffix(".json")
    slurm.run(f"srun -n1 --hybrid-mem=off hybridmem sites run -o {made} -- {unkept} hot 0", user="alice")
    give_accesses(made)
    path = shared / store(unkept).name / "shared.json"
    path.parent.mkdir(mode=0o755)
    path.write_bytes(made.read_bytes())
    words = f"--hybrid-mem=guided,fast={sum(HOT)}M,packer=knapsack"
    own = slurm.home("bob") / STORE.relative_to(slurm.home("alice")) / path.parent.name / "own.json"
    try:
        for wanted in (path, own):
            if wanted == own:
                slurm.run(f"mkdir -p {own.parent} && cp {path} {own}", user="bob")
            job_id = slurm.sbatch("bob", f"srun -n1 {program} hot 0", words)
            slurm.wait_job(job_id)
            guided = slurm.record(job_id)["guided"]
            assert guided["profile"] == str(wanted) and guided["reason"] is None, slurm.output(job_id)
            assert set(guided["sites"]) == hot_sites(json.loads(made.read_text()))
    finally:
        shutil.rmtree(own.parent, ignore_errors=True)


def test_a_guided_task_without_any_profile_is_refused_in_one_line(unkept):
    done = slurm.run(f"srun -n1 --hybrid-mem=guided {unkept} hot 0", user="alice", check=False)
    lines = [line for line in done.stderr.splitlines() if line.startswith("hybridmem: ")]
    assert done.returncode != 0 and len(lines) == 1, done.stderr
    assert lines[0].startswith("hybridmem: --hybrid-mem=guided: there is no profile of the build ")


def test_a_job_whose_profile_cannot_be_kept_runs_and_the_record_says_why(unkept):
    step = f"XDG_DATA_HOME=/proc/none srun -n1 {unkept} hot 0"
    script = f"{step}\nsrun -n1 --hybrid-mem=off printenv LD_PRELOAD\necho {{$?}}"
    job_id = slurm.sbatch("alice", script, "--hybrid-mem=profile")
    slurm.wait_job(job_id)
    record = slurm.record(job_id)
    assert record["exit_code"] == 0 and "{1}" in slurm.output(job_id)
    assert record["profile"]["file"] is None
    assert record["profile"]["reason"].startswith("no profile can be kept in /proc/none/")
    assert not store(unkept).exists()


def test_a_recorder_that_is_killed_with_its_step_leaves_nothing(unkept):
    """SIGKILL reaches all processes of the step; the recorder's folder in /dev/shm is removed at the job's end."""
    look = "ls -d /dev/shm/hybridmem-sites.*"
    kill = f"until {look} && scancel --signal=KILL $SLURM_JOB_ID.0; do sleep 0.1; done"
    script = f"srun -n1 {unkept} hot 600 &\n{kill}\nwait\necho left\n{look}"
    job_id = slurm.sbatch("alice", script, "--hybrid-mem=profile")
    slurm.wait_job(job_id)
    record = slurm.record(job_id)
    reason = "1 of 1 recorders on this node left no profile"
    assert record["profile"] == SAMPLED | {"reason": reason}, slurm.output(job_id)
    assert "/dev/shm/" in slurm.output(job_id).split("left")[1]
    assert not list(Path("/dev/shm").glob("hybridmem-sites.*"))


def migrated(record, step):
    return next(found for found in record["migration"]["steps"] if found["step"] == step)


def test_a_program_without_a_profile_runs_as_with_migrate(unkept):
    """With a profile it is guided, and the migrator ends. A wrong word is refused all the same."""
    words = "--hybrid-mem=guided,fallback=migrate,interval=200ms,source=damon,fast=24M"
    job_id = slurm.sbatch("alice", f"srun -n1 {unkept} hot 600", words)
    pid = slurm.wait_for(lambda: pid_of(unkept), f"the program of job {job_id}")
    assert sum(by_node(pid)[node] for node in FAST) >= ALL * MIB / 2, "it begins in the fast tier"
    slurm.wait_for(lambda: stepmigrators.phases(job_id, 0) >= 1, "a decision of its migrator")
    slurm.run(f"scancel {job_id}")
    slurm.wait_job(job_id)
    record = slurm.record(job_id)
    assert (record["request"], record["plan"]["mode"]) == (words.split("=", 1)[1], "migrate")
    guided = record["guided"]
    assert guided["reason"].startswith("there is no profile of the build ") and guided["fallback"] == "migrate"
    assert f"hybridmem: {guided['reason'][:60]}" in slurm.output(job_id)
    assert guided["seen_share"] is None and migrated(record, "0")["phases"] >= 1
    done = slurm.run(f"srun -n1 {words},packer=best {unkept} hot 0", user="alice", check=False)
    assert done.returncode != 0 and '"best" is no packer' in done.stderr


def steps_with_a_migrator(job_id):
    return [options["--step"] for options in stepmigrators.migrators(job_id).values()]


def test_the_migrator_of_a_fallback_ends_where_all_tasks_are_guided(probe):
    program, path = probe
    words = f"--hybrid-mem=guided,profile={path},fast={sum(HOT)}M,packer=knapsack,fallback=migrate"
    job_id = slurm.sbatch("alice", f"srun -n2 {program} hot 600", words, "-n2")
    slurm.wait_for(lambda: pid_of(program), f"the program of job {job_id}")
    slurm.wait_for(lambda: "0" not in steps_with_a_migrator(job_id), "the end of the step's migrator")
    slurm.run(f"scancel {job_id}")
    slurm.wait_job(job_id)
    record = slurm.record(job_id)
    assert record["guided"]["reason"] is None and record["guided"]["fallback"] is None
    assert record["plan"]["mode"] == "guided"
    assert not [warning for warning in record["warnings"] if "migrat" in warning]


def placed_by_site(pid):
    """The memory of the sites in the fast tier, which has a policy of its own, by tier."""
    found = dict.fromkeys((*FAST, *SLOW), 0)
    for line in Path(f"/proc/{pid}/numa_maps").read_text().splitlines():
        if " anon=" in line and f":{SLOW[0]}-{SLOW[-1]}" not in line.split()[1]:
            for node, count in re.findall(r" N(\d+)=(\d+)", line):
                found[int(node)] += int(count) * slurm.PAGE
    return [sum(found[node] for node in tier) for tier in (FAST, SLOW)]


OVERHEAD = 0.1
LEAST_MENDED = 0.7  # of the accesses: without the migrator the fast tier serves none of them


def served(pid, addresses):
    """The share of the probe's accesses that the fast tier serves, with its memory where it is now."""
    share = 0
    for address, size, accesses in zip(addresses, (2 * MIB, MIB // 2), HOT.values(), strict=True):
        nodes = migration.nodes_of(pid, address // slurm.PAGE * slurm.PAGE, size // slurm.PAGE)
        share += accesses * sum(node in FAST for node in nodes) / len(nodes)
    return share / sum(HOT.values())


def is_cheap(job_id):
    """Has the migrator cost less than twice its share of the job's CPU time, as it may in the first minutes?"""
    now, job_s = migration.progress(job_id), migration.cpu_seconds(job_id)
    if not now:
        return False
    cost_s = now["cpu_s"] + max(now["kernel_cpu_s"], 0)
    print(f"migrator: {cost_s} s, job: {job_s} s")
    return cost_s < 2 * OVERHEAD * job_s


def test_a_migrator_mends_a_profile_that_is_wrong(probe):
    """By the profile the site of 4 MiB is hot, which the program never uses again. The policy of its memory does not
    keep the migrator from taking it down, for that of 2 MiB. So the profile costs the time until then, and the share
    of the CPUs that the migrator may use."""
    program, path = probe
    made = json.loads(path.read_text())
    for site in made["sites"]:
        number = 1000 if site["frames"] and site["peak_bytes"] // MIB == 4 else 0
        site.update(reads=number, writes=0, accesses=number, samples=number)
    wrong = path.with_name("wrong.json")
    wrong.write_text(json.dumps(made))
    words = f"profile={wrong},fast=4M,interval=200ms,overhead={OVERHEAD:.0%},source=damon"
    job_id = slurm.sbatch("alice", f"srun -n1 {program} hot 600 told", f"--hybrid-mem=guided,migrate,{words}")
    pid = slurm.wait_for(lambda: pid_of(program), f"the program of job {job_id}")
    told = slurm.wait_for(lambda: re.search(r"0x(\w+) 0x(\w+)\n", slurm.output(job_id)), "the memory that is used")
    addresses = [int(word, 16) for word in told.groups()]
    assert sum(placed_by_site(pid)) >= 4 * MIB
    slurm.wait_for(lambda: placed_by_site(pid)[1] >= 2 * MIB, "the memory of the wrong site in the slow tier")
    assert sum(by_node(pid)[node] for node in FAST) <= 5 * MIB
    before = stepmigrators.phases(job_id, 0)
    stepmigrators.wait_phases(job_id, 0, before + 5)
    assert placed_by_site(pid)[1] >= 2 * MIB, "nothing moves it back"
    share = slurm.wait_for(
        lambda: (now := served(pid, addresses)) >= LEAST_MENDED and now, "what is used in fast memory"
    )
    print(f"served: {share}")
    slurm.wait_for(lambda: is_cheap(job_id), f"{2 * OVERHEAD:.0%} of the job's CPU time", every=migration.QUIET)
    slurm.run(f"scancel {job_id}")
    slurm.wait_job(job_id)
    record = slurm.record(job_id)
    guided = record["guided"]
    assert guided["expected_share"] == 1 and guided["site_count"] == 1 and record["plan"]["mode"] == "guided"
    step = migrated(record, "0")
    assert step["promoted_bytes"] >= 2 * MIB
    # What the program uses is in use at each of DAMON's looks, which may tell no share. A share is of the whole run:
    # how much of it came before the move is a matter of the machine's load.
    seen, why = guided["seen_share"], "the samples of the step's migrator do not tell it"
    assert seen == step["fast_share"] and (guided["seen_source"].startswith(why) if seen is None else 0 < seen <= 1)
