# SPDX-License-Identifier: Apache-2.0
"""Tests mode guided: a profiled program has the memory of its most used allocation sites in the fast tier."""

import json
import re
import shutil
from pathlib import Path

import knownsites
import migration
import pytest
import slurm
import stepmigrators
from migration import FAST, SLOW, killed, scarce_fast
from test_isolate import by_node

SOURCE = Path(__file__).parents[1] / "cli" / "sites-probe.c"
MIB = slurm.MIB
HOT = {2: 750, 8: 250}  # accesses to the sites that the probe uses, by their MiB; it has one of each size up to 8 MiB
ALL = sum(range(1, 9))
LITTLE_KEPT_KIB = 4096  # what the kernel keeps free of all nodes
STORE = slurm.home("alice") / ".local/share/hybridmem/profiles"


# The record's `profile`, where no rate was asked for; the guest's source takes samples by time.
SAMPLED = dict.fromkeys(("file", "reason", "plan", "run", "period", "rate_reason", "unsampled")) | {"method": "sample"}


@pytest.fixture(autouse=True)
def no_job_is_left(clean_node):
    yield
    slurm.run("scancel --user=alice")


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


@pytest.fixture(scope="module")
def probe():
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


def test_the_chosen_sites_are_on_the_fast_nodes_and_all_else_on_the_slow_ones(probe):
    program, path = probe
    profile = json.loads(path.read_text())
    options = f"--hybrid-mem=guided,profile={path.name},fast={sum(HOT)}M,packer=knapsack"
    job_id = slurm.sbatch(
        "alice", f"cd {program.parent}\nsrun -n1 ./{program.name} hot 600", f"--chdir={program.parent}", options
    )
    pid = slurm.wait_for(lambda: pid_of(program), f"the program of job {job_id}")
    found = by_node(pid)
    slurm.run(f"scancel {job_id}")
    slurm.wait_job(job_id)
    record = slurm.record(job_id)
    assert sum(HOT) * MIB <= sum(found[node] for node in FAST) < (sum(HOT) + 0.5) * MIB
    assert sum(found[node] for node in SLOW) >= (ALL - sum(HOT)) * MIB
    guided = record["guided"]
    assert set(guided["sites"]) == hot_sites(profile) and guided["site_count"] == len(HOT)
    assert (guided["profile"], guided["packer"]) == (str(path), "knapsack")
    assert guided["fast_bytes"] == sum(HOT) * MIB and guided["expected_share"] == 1
    assert guided["seen_share"] is None and guided["reason"] is None
    assert (record["plan"]["mode"], record["plan"]["nodes"]) == ("guided", list(SLOW))
    shown = slurm.run(f"hybridmem show {job_id}", user="alice").stdout
    assert f"{len(HOT)} sites of 10.0 MiB in the fast tier, at most 10.0 MiB, by knapsack" in shown


@pytest.mark.parametrize(("fast", "slices"), [(1, {0, 3, 4, 20}), (0.6, {3, 4})])
def test_the_most_used_slices_of_a_large_allocation_are_on_the_fast_nodes(probe, fast, slices):
    """Four slices just fit, of which one is as good as others. Where not all find room, those in front."""
    program, path = probe
    sliced = path.with_name("sliced.json")
    slurm.run(f"srun -n1 --hybrid-mem=off hybridmem sites run -o {sliced} -- {program} slices", user="alice")
    accesses = [300 if number in {3, 4, 20} else 1 for number in range(32)]

    def slice_large(site):
        is_large = site["accesses"] > 0
        site["slices"] = {"step_bytes": None, "extent_bytes": None, "accesses": accesses} if is_large else None
        if is_large and fast < 1:  # it has got larger since
            site.update(peak_bytes=6 * MIB, series=None)

    give_accesses(sliced, lambda site: sum(accesses) if site["peak_bytes"] == 8 * MIB else 0, slice_large)
    words = f"hybridmem sites guide --fast {int(fast * MIB)} {sliced} -- {program} slices"
    told = slurm.run(f"srun -n1 --hybrid-mem=off {words}", user="alice").stdout
    nodes = re.findall(r"^large \w+.*:([\d,-]+)$", told, re.M)
    assert len(nodes) == 32
    assert {number for number, node in enumerate(nodes) if node in map(str, FAST)} == slices


SMALL = {("frames", 400 * 8192): 400 * 8192, ("class", 128): 40000 * 104}  # bytes of the chosen small allocations
SMALL_REST = 400 * 10240 + 40000 * 208


@pytest.fixture(scope="module")
def small(probe):
    """The program with a profile by which one caller's allocations of 8 KiB and one size class are hot."""
    program, _ = probe
    path = program.with_name("small.json")
    slurm.run(f"srun -n1 --hybrid-mem=off hybridmem sites run -o {path} -- {program} small 0", user="alice")

    def accesses_of(site):
        key = ("frames", site["peak_bytes"]) if site["frames"] else ("class", site["class_bytes"])
        return 500 if key in SMALL else 0

    give_accesses(path, accesses_of)
    return program, path


def run_small(small):
    """Runs the program until it has its memory. Returns the job and its memory by node."""
    program, path = small
    words = f"--hybrid-mem=guided,profile={path},fast=64M"
    job_id = slurm.sbatch("alice", f"srun -n1 {program} small 600", words)
    least = sum(SMALL.values()) + SMALL_REST
    pid = slurm.wait_for(lambda: pid_of(program, least), f"the program of job {job_id}")
    # Huge pages may have that much before all is allocated; then the program sleeps.
    slurm.wait_for(lambda: "nanosleep" in Path(f"/proc/{pid}/wchan").read_text(), "its sleep")
    found = by_node(pid)
    slurm.run(f"scancel {job_id}")
    slurm.wait_job(job_id)
    return job_id, found


def test_small_objects_of_the_chosen_sites_are_on_the_fast_nodes(small):
    """Others are made in turn with them."""
    job_id, found = run_small(small)
    chosen = sum(SMALL.values())
    assert chosen <= sum(found[node] for node in FAST) < 1.3 * chosen + 4 * MIB  # the kernel gives huge pages
    assert sum(found[node] for node in SLOW) >= SMALL_REST
    assert slurm.record(job_id)["guided"]["site_count"] == len(SMALL)


def test_small_objects_find_room_where_the_fast_nodes_are_full(small):
    """The policy of their pages is a preference: nobody is killed for want of fast memory while slow is free."""
    begun = killed()
    with scarce_fast(0, LITTLE_KEPT_KIB):
        _, found = run_small(small)
    assert sum(found[node] for node in SLOW) >= sum(SMALL.values()) + SMALL_REST - MIB
    assert killed() == begun


def test_what_cannot_be_guided_is_refused_in_one_line(probe):
    _, path = probe
    said = {
        f"{path} true": "is of the build ",
        "/none.json true": "/none.json: No such file or directory",
        f"{path},packer=best {probe[0]}": '"best" is no packer',
        "/dev/zero true": "/dev/zero: no profile, as it is not a file",
    }
    for words, why in said.items():
        done = slurm.run(f"srun -n1 --hybrid-mem=guided,profile={words}", user="alice", check=False)
        lines = [line for line in done.stderr.splitlines() if line.startswith("hybridmem: ")]
        assert done.returncode != 0 and len(lines) == 1, done.stderr
        assert lines[0].startswith("hybridmem: --hybrid-mem=guided,profile=") and why in lines[0]


def test_a_static_program_runs_and_the_record_says_why(probe):
    program, path = probe
    static = program.with_name("static")
    static.with_suffix(".c").write_text("int main(void) { return 3; }\n")
    slurm.run(f"gcc -static -o {static} {static}.c", user="alice")
    # Slurm finds a program of the working directory, too, also without a slash in its name.
    words = f"cd {static.parent}\nsrun -n1 --hybrid-mem=guided,profile={path.name} {static.name}"
    job_id = slurm.sbatch("alice", words)
    slurm.wait_job(job_id)
    why = f"{static.name} is linked statically: it runs, and its memory is not guided"
    assert f"hybridmem: {why}\n" in slurm.output(job_id)
    record = slurm.record(job_id)
    assert record["exit_code"] == 3
    assert record["guided"]["reason"] == why and record["guided"]["fast_bytes"] is None


def test_steps_of_another_mode_are_not_guided(probe):
    _, path = probe
    script = "srun -n1 --hybrid-mem=off printenv LD_PRELOAD HYBRIDMEM_GUIDE HYBRIDMEM_ISOLATE_JOB\necho left $?"
    job_id = slurm.sbatch("alice", script, f"--hybrid-mem=guided,profile={path}")
    slurm.wait_job(job_id)
    output = slurm.output(job_id)
    assert "left 1" in output and "libhybridmem" not in output and "sites=" not in output


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


def test_a_profile_of_an_older_build_is_used_if_it_may_be(probe):
    """A function before all others has come since, so none is where it was."""
    program, path = probe
    later = program.with_name("later")
    source = later.with_suffix(".c")
    source.write_text("int more(int n);\nint more(int n)\n{\n    return n + 1;\n}\n" + SOURCE.read_text())
    slurm.run(f"gcc -O2 -pthread -I {SOURCE.parent} -o {later} {source}", user="alice")
    words = f"--hybrid-mem=guided,profile={path},fast={sum(HOT)}M,packer=knapsack,stale=ok"
    job_id = slurm.sbatch("alice", f"srun -n1 {words} {later} hot 600")
    pid = slurm.wait_for(lambda: pid_of(later), f"the program of job {job_id}")
    assert sum(HOT) * MIB <= sum(by_node(pid)[node] for node in FAST) < (sum(HOT) + 0.5) * MIB
    slurm.run(f"scancel {job_id}")
    slurm.wait_job(job_id)
    guided = slurm.record(job_id)["guided"]
    number = sum(bool(site["frames"]) for site in json.loads(path.read_text())["sites"])
    assert guided["stale"] == {"sites": number, "found": number} and guided["site_count"] == len(HOT)
    assert guided["profile"] == str(path) and guided["reason"] is None
