# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem profile mbi with a program whose traffic is known (mbi-probe.c). Both tiers are node 0, which every
machine has; a script that stands in for hybridmem-papi has the counts that the program writes. The count of a memory
itself is in tests/system/test_mbi.py."""

import json
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from installed import LIBEXEC, check_root, helper, needs_papi, with_mounts
from siteprofiles import PROFILE, VALIDATOR

HERE = Path(__file__).parent
TOPOLOGY = HERE.parent / "fixtures" / "topology" / "optane-2-sockets.xml"
TIERS = ("--nodes", "fast=0@0 slow=0@1", "--topology", TOPOLOGY)
LINE = 64
MIB = 1 << 20
# Lines that each site reads and writes, by its MiB, and those of all else
SITES, REST = {2: (1000000, 500000), 3: (4000000, 0), 4: (0, 2000000)}, 500000
ALL = sum(map(sum, SITES.values())) + REST
RUNS = len(SITES) + 2
PAPI = """#!/bin/sh
echo papi 1 7.1.0
echo event 0 read-bytes pmem 0 64B 0 reads
echo event 1 write-bytes pmem 0 64B 0 writes
echo ready 2
while read line; do echo read 1 $(cat {counts}); done
"""


def mbi(*words, **options):
    return helper("hybridmem-profile", "mbi", *words, **options)


@pytest.fixture(scope="module")
def probe(tmp_path_factory):
    path = tmp_path_factory.mktemp("probe") / "probe"
    subprocess.run(["gcc", "-O2", "-Wall", "-o", path, HERE / "mbi-probe.c"], check=True)
    return path


class Plan:
    """A plan of the probe, and the node's counters."""

    def __init__(self, folder, probe, repetitions):
        self.folder, self.counts, self.papi = folder / "it's a plan", folder / "counts", folder / "papi"
        self.counts.write_text("0 0\n")
        self.numastat = Path(f"{self.counts}.numastat")
        self.papi.write_text(PAPI.format(counts=self.counts))
        self.papi.chmod(0o755)
        self.said = mbi("plan", "-o", self.folder, "--repeat", repetitions, "--", probe, self.counts).stdout

    def run(self, *words, status=0, papi=None, **options):
        """Runs some or all with the stand-in mounted over hybridmem-papi."""
        check_root()
        self.numastat.write_text("numa_hit 9\nnuma_miss 0\nnuma_foreign 0\n")
        mount = f"mount --bind '{papi or self.papi}' {LIBEXEC / 'hybridmem-papi'}\n"
        mount += f"mount --bind '{self.numastat}' /sys/devices/system/node/node0/numastat"
        command = with_mounts(mount, LIBEXEC / "hybridmem-profile", "mbi", "run", *TIERS, self.folder, *map(str, words))
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, **options)
        assert done.returncode == status, done.stdout + done.stderr
        return done

    def state(self, status=0):
        return json.loads(mbi("status", "--json", self.folder, status=status).stdout)

    def merged(self, *words, status=0):
        path = self.folder.parent / "merged.json"
        done = mbi("merge", "-o", path, *words, self.folder, status=status)
        if status:
            return done
        profile = json.loads(path.read_text())
        VALIDATOR.validate(profile)
        return profile

    def fail(self, site, does_fail=True):
        """Has the program fail, or not any more, where this site is alone in the slow tier."""
        path = Path(f"{self.counts}.fail{site}")
        path.touch() if does_fail else path.unlink()


@pytest.fixture
def plan(tmp_path, probe):
    return lambda repetitions=1: Plan(tmp_path, probe, repetitions)


def by_mib(profile):
    large = [site for site in profile["sites"] if site["frames"] and site["peak_bytes"] >= MIB]
    return {site["peak_bytes"] // MIB: site for site in large}


@needs_papi
def test_each_site_has_the_bytes_that_it_reads_and_writes(plan):
    """They are told apart though one function allocates for all; what others read meanwhile is taken off."""
    made = plan(2)
    assert made.said.splitlines()[0] == "10 runs: 3 sites in 3 groups, all else, and nothing, 2 times"
    assert made.state(status=1)["array"] == "0-9"
    done = made.run()
    assert done.stdout == "" and done.stderr.count("\n") == 2 * RUNS
    assert made.state() == {"runs": 10, "done": 10, "not_run": 0, "array": "", "failed": []}
    profile = made.merged()
    assert {size: (site["reads"], site["writes"]) for size, site in by_mib(profile).items()} == {
        size: (reads * LINE, writes * LINE) for size, (reads, writes) in SITES.items()
    }
    assert profile["sampling"] == {
        "source": "mbi",
        "why": None,
        "unit": None,
        "samples": None,
        "elsewhere": REST * LINE,
        "saturated": None,
        "lost": 0,
    }
    for size, site in by_mib(profile).items():
        share = sum(SITES[size]) / ALL
        assert site["confidence"] == {"low": pytest.approx(share), "high": pytest.approx(share)}
    assert all(site["accesses"] is None for site in profile["sites"] if site["class_bytes"])


@needs_papi
def test_a_profile_of_counted_bytes_is_used_as_any_other(plan, tmp_path):
    made = plan()
    made.run()
    made.merged()
    path = tmp_path / "merged.json"
    shown = helper("hybridmem-sites", "show", path).stdout.splitlines()
    assert shown[1] == (
        "bytes counted while each site was alone in the slow tier (mbi); 6.2 % of them were of none of these sites"
    )
    assert [line.split(" %")[0].split()[-1] for line in shown[4:7]] == ["50.0", "25.0", "18.8"]
    assert "50.0 %" in helper("hybridmem-sites", "show", "--html", "-", path).stdout
    assert json.loads(helper("hybridmem-sites", "diff", "--json", path, path).stdout)["sites"] == []
    planned = json.loads(helper("hybridmem-sites", "plan", "--json", "--fast", "3M", path).stdout)
    assert planned["expected_share"] == pytest.approx(0.5)
    assert json.loads(helper("hybridmem-sites", "show", "--json", path).stdout) == json.loads(path.read_text())
    both = tmp_path / "both.json"
    helper("hybridmem-sites", "merge", "-o", both, path, path)
    assert by_mib(json.loads(both.read_text()))[3]["reads"] == 2 * SITES[3][0] * LINE


@needs_papi
def test_what_failed_is_told_and_only_that_is_run_again(plan):
    made = plan()
    made.fail(1)
    done = made.run(status=1)
    assert "the program ended with exit status 3" in done.stderr
    state = made.state(status=1)
    assert (state["done"], state["not_run"], state["array"]) == (RUNS - 1, 0, str(state["failed"][0]["run"]))
    [failed] = state["failed"]
    assert failed["reason"] == "the program ended with exit status 3" and failed["in_slow"].startswith("site ")
    text = mbi("status", made.folder, status=1).stdout.splitlines()
    assert text[0] == f"{RUNS} runs: {RUNS - 1} done, 1 failed, 0 not run"
    assert text[1].endswith(": the program ended with exit status 3")
    assert mbi("status", "--array", made.folder, status=1).stdout == f"{failed['run']}\n"
    assert "1 of 5 runs is not done" in made.merged(status=1).stderr
    partial = made.merged("--partial")
    assert by_mib(partial)[3]["accesses"] is None and by_mib(partial)[2]["reads"] == SITES[2][0] * LINE
    assert partial["sampling"]["why"] == "1 of 3 groups of sites was not measured"
    before = {path.name: path.stat().st_mtime_ns for path in made.folder.glob("run-*.json")}
    made.fail(1, False)
    again = made.run()
    assert again.stderr == f"hybridmem profile mbi run: run {failed['run']} of 0 to {RUNS - 1}\n"
    after = {path.name: path.stat().st_mtime_ns for path in made.folder.glob("run-*.json")}
    assert [name for name in after if after[name] != before[name]] == [f"run-{failed['run']}.json"]
    assert made.state()["failed"] == []
    assert by_mib(made.merged())[3]["reads"] == SITES[3][0] * LINE


@needs_papi
def test_a_program_that_was_told_to_end_ends_all(plan):
    made = plan()
    Path(f"{made.counts}.term").touch()
    said = made.run(status=-signal.SIGTERM).stderr
    assert "the program was ended by the signal Terminated" in said and "run 1 of" not in said
    state = made.state(status=1)
    assert ([failed["run"] for failed in state["failed"]], state["not_run"]) == ([0], RUNS - 1)


@needs_papi
def test_the_program_of_each_run_may_get_the_same_signals(plan):
    made = plan()
    made.run()
    seen = Path(f"{made.counts}.blocked").read_text().splitlines()
    assert len(seen) == 1 + RUNS and len(set(seen)) == 1  # that of the first run, which finds the sites, too


@needs_papi
def test_a_topology_is_named_from_the_folder_where_run_is(plan, tmp_path):
    """The program is started in the plan's folder."""
    made = plan()
    shutil.copy(TOPOLOGY, tmp_path / "here.xml")
    made.run("--topology", "here.xml", 0, cwd=tmp_path)
    said = mbi("run", "--topology", "none.xml", made.folder, 0, status=2).stderr
    assert said == "hybridmem profile mbi run: none.xml: No such file or directory\n"


def test_words_that_a_plan_cannot_have_are_refused_before_the_first_run(probe, tmp_path):
    said = mbi("plan", "-o", tmp_path / "new", "--", probe, "\udcff", status=1).stderr
    assert said == "hybridmem profile mbi plan: argument 1 of the program is not UTF-8: a plan cannot have it\n"
    folder = tmp_path / "\udcff"
    folder.mkdir()
    said = mbi("plan", "-o", tmp_path / "new", "--", probe, status=1, cwd=folder).stderr
    shown = f"{tmp_path}/\\xff"
    assert said == f"hybridmem profile mbi plan: the folder {shown} is not UTF-8: a plan cannot have it\n"
    assert not (tmp_path / "new").exists()


@needs_papi
def test_one_run_is_one_task_of_the_job_array(plan):
    made = plan()
    script = (made.folder / "job.sh").read_text()
    assert f"#SBATCH --array=0-{RUNS - 1}\n" in script and "#SBATCH --exclusive\n" in script
    played = made.folder.parent / "bin"
    played.mkdir()
    (played / "hybridmem").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (played / "hybridmem").chmod(0o755)
    env = {"PATH": f"{played}:/usr/bin:/bin", "SLURM_ARRAY_TASK_ID": "3"}
    done = subprocess.run([made.folder / "job.sh"], capture_output=True, text=True, check=True, env=env)
    assert done.stdout.splitlines() == ["profile", "mbi", "run", str(made.folder), "3"]
    made.run(3)
    state = made.state(status=1)
    assert (state["done"], state["array"]) == (1, "0-2,4")
    assert made.run(3).stdout == "run 3 is done\n"


@needs_papi
def test_all_are_run_again(plan):
    made = plan()
    told = [f"hybridmem profile mbi run: run {i} of 0 to {RUNS - 1}" for i in range(RUNS)]
    assert made.run().stderr.splitlines() == told
    assert made.run().stderr == ""
    for path in made.folder.glob("run-*.json"):
        path.write_text(path.read_text().replace('"source": "', '"source": "earlier '))
    assert made.run("--again").stderr.splitlines() == told
    assert "earlier" not in "".join(path.read_text() for path in made.folder.glob("run-*.json"))


@needs_papi
def test_without_counters_nothing_is_run_and_the_reason_is_told(plan):
    made = plan()
    none = made.folder.parent / "none"
    none.write_text("#!/bin/sh\necho papi 1 7.1.0\necho component rapl out none here\necho ready 0\n")
    none.chmod(0o755)
    said = made.run(0, status=1, papi=none).stderr
    assert said.count("\n") == 1
    assert said.startswith("hybridmem profile mbi run: the traffic of the tier pmem is not counted here: perf-imc: ")
    assert made.counts.read_text().split()[0] == "700000"  # of the first run, which has found the sites
    result = json.loads((made.folder / "run-0.json").read_text())
    assert (result["read_bytes"], result["write_bytes"], result["source"]) == (None, None, None)
    assert f"run: {result['reason']}\n" in said


@needs_papi
def test_counters_that_stop_are_no_figure(plan):
    made = plan()
    once = made.folder.parent / "once"
    once.write_text(made.papi.read_text().replace("while read line; do", "for i in 1 2; do read line;"))
    once.chmod(0o755)
    assert "the traffic of the tier pmem is not counted here: " in made.run(0, status=1, papi=once).stderr
    assert json.loads((made.folder / "run-0.json").read_text())["read_bytes"] is None


@needs_papi
def test_a_tier_that_is_full_is_told(plan):
    """A few allocations elsewhere may be those of other programs."""
    made = plan()
    full = Path(f"{made.counts}.full")
    full.write_text("16")
    made.run(2)
    full.write_text("17")
    assert "a tier was full: 17 allocations were not in the wanted one; " in made.run(3, status=1).stderr
    assert (made.state(status=1)["done"], len(made.state(status=1)["failed"])) == (1, 1)


@pytest.mark.parametrize(
    ("topology", "said"),
    [
        ("one-node", "this node has one tier only: no memory can be set apart"),
        (
            "guest-optane",
            "counters tell kinds of memory apart, and the tiers fast and slow are both unknown: say in hybridmem.conf "
            "what they are",
        ),
    ],
)
def test_tiers_that_counters_cannot_tell_apart_are_refused(plan, topology, said):
    made = plan()
    done = mbi("run", "--topology", TOPOLOGY.with_name(f"{topology}.xml"), made.folder, 0, status=1)
    assert done.stderr == f"hybridmem profile mbi run: {said}\n"


def test_another_build_is_refused(plan, probe, tmp_path):
    copy = tmp_path / "copy"
    shutil.copy(probe, copy)
    counts = tmp_path / "other"
    counts.write_text("0 0\n")
    folder = tmp_path / "other-plan"
    mbi("plan", "-o", folder, "--", copy, counts)
    subprocess.run(["gcc", "-O1", "-o", copy, HERE / "mbi-probe.c"], check=True)
    said = mbi("run", folder, 0, status=1).stderr
    assert said == f"hybridmem profile mbi run: {copy} is another build than that of the plan: make a new plan\n"


def test_another_build_of_a_library_is_refused(tmp_path):
    """The ids of the plan's sites have the builds of libraries, too: no run would place what they allocate."""
    part, main = tmp_path / "part.c", tmp_path / "main.c"
    part.write_text("#include <stdlib.h>\nvoid *take(void);\nvoid *take(void) { return malloc(2 << 20); }\n")
    main.write_text("void *take(void);\nint main(void) { return !take(); }\n")
    library, program, folder = tmp_path / "libpart.so", tmp_path / "program", tmp_path / "plan"
    build = ["gcc", "-shared", "-fPIC", "-o", library, part]
    subprocess.run([*build, "-O0"], check=True)
    subprocess.run(["gcc", "-O0", "-o", program, main, library], check=True)
    mbi("plan", "-o", folder, "--", program)
    subprocess.run([*build, "-O0", "-Wl,--build-id=0xabcd"], check=True)
    why = f"{library} is another build than that of the plan: make a new plan"
    assert mbi("run", *TIERS, folder, 0, status=1).stderr == f"hybridmem profile mbi run: {why}\n"
    told = tmp_path / "told"  # by slurmstepd, which has 16 bytes at the end of this file for that
    told.write_bytes(bytes(16))
    count = ["sh", "-c", 'exec "$0" mbi task --count "$@" 3<> ' + str(told), LIBEXEC / "hybridmem-profile"]
    done = subprocess.run([*count, folder, "1", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"hybridmem profile mbi task: {why}\n")
    failed = json.loads(mbi("status", "--json", folder, status=1).stdout)["failed"]
    assert [(run["run"], run["reason"]) for run in failed] == [(0, why), (1, why)]
    subprocess.run([*build, "-O0"], check=True)
    assert why not in mbi("run", *TIERS, folder, 0, status=1).stderr


def test_a_profile_of_the_sites_can_be_given(plan, probe, tmp_path):
    path, counts = tmp_path / "first.json", tmp_path / "counts"
    counts.write_text("0 0\n")
    helper("hybridmem-sites", "run", "-o", path, "--", probe, counts)
    said = mbi("plan", "-o", tmp_path / "new", "--profile", path, "--alone", "100%", "--", probe, counts).stdout
    assert said.startswith("9 runs: 3 sites in 1 group,")
    assert counts.read_text() == "700000 0\n"
    other = mbi("plan", "-o", tmp_path / "other", "--profile", PROFILE, "--", probe, counts, status=1).stderr
    assert other.endswith(f"is not of the build of {probe}: make a new profile\n")
    again = mbi("plan", "-o", tmp_path / "new", "--profile", path, "--", probe, counts, status=1).stderr
    assert again.endswith("new is not empty: name a new folder\n")
    assert not (tmp_path / "other").exists()


def test_a_plan_leaves_a_folder_with_files_as_it_is(probe, tmp_path):
    """Nothing is left of a plan that failed, and what the user has in the folder stays."""
    folder, counts = tmp_path / "mine", tmp_path / "counts"
    counts.write_text("0 0\n")
    folder.mkdir()
    assert mbi("plan", "-o", folder, "--", "false", status=1).stderr.endswith("ended with exit status 1\n")
    assert list(folder.iterdir()) == []
    for name in ("job.sh", "profile.json"):
        (folder / name).write_text("mine\n")
        said = mbi("plan", "-o", folder, "--", probe, counts, status=1).stderr
        assert said == f"hybridmem profile mbi plan: {folder} is not empty: name a new folder\n"
        assert [(path.name, path.read_text()) for path in folder.iterdir()] == [(name, "mine\n")]
        (folder / name).unlink()


def test_results_that_are_none_count_as_failed(plan):
    made = plan()
    (made.folder / "run-1.json").write_text("{}")
    (made.folder / "run-2.json").mkdir()
    state = made.state(status=1)
    assert [failed["run"] for failed in state["failed"]] == [1, 2] and state["array"] == "0-4"
    assert state["failed"][0]["reason"].startswith("run-1.json: schema has to be ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["plan", "--", "true"], "plan: -o is missing: as in: hybridmem profile mbi plan -o app.mbi -- ./app"),
        (["plan", "-o", "x"], "plan: the program is missing: as in: hybridmem profile mbi plan -o app.mbi -- ./app"),
        (["plan", "-o", "x", "--repeat", "21", "--", "true"], 'plan: --repeat: "21"'),
        (["run"], "run: the folder is missing: name one that hybridmem profile mbi plan made"),
        (["run", "/none"], "run: /none: No such file or directory"),
        (["run", "--nodes", "x", "/"], 'run: --nodes: "x" is wrong'),
        (["task", "--count", "/", "0", "true"], "task: --count: descriptor 3 cannot tell the end of a step: "),
        (["task", "/none", "0", "true"], "task: /none: No such file or directory"),
        (["task", "/none"], "task: the folder, the run or the program is missing."),
        (["status"], "status: the folder is missing: name one that hybridmem profile mbi plan made"),
        (["status", "/"], "status: //plan.json: No such file or directory"),
        (["status", "--json", "--array", "/"], "status: --json and --array exclude each other: give one"),
        (["merge", "/"], "merge: -o is missing: as in: hybridmem profile mbi merge -o app.json app.mbi"),
        (["best"], ": unexpected word 'best'."),
        ([], ": a command is missing."),
    ],
)
def test_refusals(words, said):
    done = mbi(*words, status=2)
    assert done.stdout == "" and done.stderr.count("\n") == 1
    assert said in done.stderr and done.stderr.startswith("hybridmem profile")


@pytest.mark.parametrize("command", ["plan", "run", "status", "merge", "task"])
def test_help_texts_fit_a_terminal(command):
    lines = mbi(command, "--help").stdout.splitlines()
    assert lines[0].startswith(f"Usage: hybridmem profile mbi {command} ") and max(map(len, lines)) <= 80
