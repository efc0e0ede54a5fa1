# SPDX-License-Identifier: Apache-2.0
"""The plugin in Slurm's contexts: which request holds for which task, and what a refusal looks like."""

import contextlib
import re
from pathlib import Path

import nodes
import pytest
import slurm

# What the kernel says of the first mapping of a program that has just been executed: the task's policy.
POLICY = "/usr/bin/awk 'NR == 1 { print $2 }' /proc/self/numa_maps"
POLICIES = {"fast": "bind=static:0-1", "slow": "bind=static:2-3", "interleave": "interleave=static:0-3"}
VARIABLE = "SLURM_SPANK__SLURM_SPANK_OPTION_hybridmem_hybrid_mem"
PLUGIN = re.compile(r"^(optional|required)\s+(\S+)", re.M)
OURS = re.compile(r"^hybridmem: .*$", re.M)


def plugin_path():
    return PLUGIN.search(slurm.PLUGSTACK.read_text()).group(2)


@contextlib.contextmanager
def plugstack(word, arguments=""):
    with slurm.configured(f"{word} {plugin_path()} {arguments}\n", path=slurm.PLUGSTACK):
        yield


def finished(user, script, *options, state="COMPLETED", **more):
    """The output of a batch job that has ended in this state."""
    job_id = slurm.sbatch(user, script, *options, **more)
    assert slurm.wait_job(job_id) == state, slurm.output(job_id)
    return job_id, slurm.output(job_id)


def test_only_spanks_symbols_are_exported():
    names = slurm.run(f"nm -D --defined-only {plugin_path()} | awk '{{ print $3 }}'").stdout.split()
    assert {"plugin_name", "plugin_type", "plugin_version", "slurm_spank_init"} <= set(names)
    assert [n for n in names if not re.match(r"(spank_)?plugin_(name|type|version)$|slurm_spank_", n)] == []


@pytest.mark.main
@pytest.mark.parametrize("command", ["srun", "sbatch", "salloc"])
def test_the_option_is_in_help(command):
    text = slurm.run(f"{command} --help").stdout
    assert "--hybrid-mem=MODE[,KEY=VALUE]" in text
    built_for = re.search(r"for\s+Slurm\s+(\d+\.\d+)", text).group(1)
    assert slurm.run(f"{command} --version").stdout.split()[-1].startswith(built_for)


@pytest.mark.main
@pytest.mark.parametrize("mode", POLICIES)
def test_sbatch_srun_and_salloc_place_their_tasks(mode):
    option = f"--hybrid-mem={mode}"
    _, text = finished("alice", f"{POLICY}; srun -n1 {POLICY}", option)
    assert text.split() == [POLICIES[mode]] * 2
    assert slurm.run(f"srun -n1 {option} {POLICY}", user="bob").stdout.split() == [POLICIES[mode]]
    assert slurm.run(f"salloc -n1 {option} srun {POLICY}", user="carol").stdout.split() == [POLICIES[mode]]


@pytest.mark.main
def test_an_inner_srun_wins_and_the_next_has_its_jobs_request_again():
    script = f"""{slurm.OVERLAP}srun -n1 --hybrid-mem=slow {POLICY}
        srun -n1 --hybrid-mem=off {POLICY}
        srun -n1 {POLICY}"""
    job_id, text = finished("alice", script, "--hybrid-mem=fast")
    assert text.split() == [POLICIES["slow"], "default", POLICIES["fast"]]
    record = slurm.record(job_id)
    assert record["request"] == "fast" and record["plan"]["mode"] == "fast"
    assert record["step_ids"] == ["batch", "0", "1", "2"]


def test_an_inner_srun_of_a_job_without_the_option():
    script = f"{slurm.OVERLAP}{POLICY}; srun -n1 --hybrid-mem=slow {POLICY}; srun -n1 {POLICY}"
    job_id, text = finished("alice", script)
    assert text.split() == ["default", POLICIES["slow"], "default"]
    record = slurm.record(job_id)
    assert record["plan"]["mode"] == "slow" and record["memory"]["samples"] > 0


def test_a_job_without_the_option_is_left_alone():
    job_id, text = finished("alice", f"{POLICY}; srun -n1 {POLICY}")
    assert text.split() == ["default"] * 2
    slurm.wait_idle()
    assert slurm.records(job_id) == []


def test_the_default_from_the_environment_and_the_command_line_over_it():
    _, text = finished("alice", POLICY, env={VARIABLE: "slow"})
    assert text.split() == [POLICIES["slow"]]
    _, text = finished("alice", POLICY, "--hybrid-mem=fast", env={VARIABLE: "slow"})
    assert text.split() == [POLICIES["fast"]]
    done = slurm.run(f"srun -n1 {POLICY}", user="alice", env={VARIABLE: "slow"})
    assert done.stdout.split() == [POLICIES["slow"]]
    # It survives an empty environment of the job.
    _, text = finished("alice", f"srun -n1 {POLICY}", "--hybrid-mem=slow", "--export=NONE")
    assert text.split() == [POLICIES["slow"]]


def test_array():
    job_id = slurm.sbatch("alice", POLICY, "--hybrid-mem=slow", "--array=3-5", "-n1")
    slurm.wait_no_jobs()
    slurm.wait_idle()
    found = [record for record in slurm.all_records() if record["array_job_id"] == job_id]
    assert sorted(record["array_task_id"] for record in found) == [3, 4, 5]
    assert len({record["job_id"] for record in found}) == 3
    single, _ = finished("alice", "true", "--hybrid-mem=slow")
    record = slurm.record(single)
    assert record["array_job_id"] is None and record["array_task_id"] is None


def test_heterogeneous_job(second_node):
    """Each component has its own request, though the script's environment has the leader's; a step's own text wins."""
    script = f"""{slurm.OVERLAP}srun --het-group=0 {POLICY}; srun --het-group=1 {POLICY}
        srun --het-group=1 --hybrid-mem=interleave {POLICY}"""
    options = ("-n1", "--hybrid-mem=slow", ":", "-n1", "--hybrid-mem=fast")
    job_id, text = finished("alice", script, *options)
    assert text.split() == [POLICIES["slow"], POLICIES["fast"], POLICIES["interleave"]]
    slurm.wait_for(lambda: not slurm.ledger(), "an empty ledger")
    found = {record["job_id"]: record for record in slurm.all_records() if record["het_job_id"] == job_id}
    assert sorted(found) == [job_id, job_id + 1]
    assert found[job_id]["request"] == "slow" and found[job_id + 1]["request"] == "fast"


def test_private_tmp_and_hooks_in_the_jobs_container():
    """job_container/tmpfs gives the job a mount namespace, contain_spank runs some of the plugin's hooks in it."""
    text = nodes.SLURM_CONF.read_text() + "JobContainerType=job_container/tmpfs\nSlurmdParameters=contain_spank\n"
    container = Path("/etc/slurm/job_container.conf")
    with slurm.configured("AutoBasePath=true\nBasePath=/var/tmp/private\n", path=container), nodes.reconfigured(text):
        script = f"touch /tmp/mine; srun -n2 --overcommit {POLICY}; exit 3"
        job_id, output = finished("alice", script, "--hybrid-mem=slow", state="FAILED")
        assert not Path("/tmp/mine").exists()
        assert output.split() == [POLICIES["slow"]] * 2
        record = slurm.record(job_id)
        assert record["exit_code"] == 3 and record["memory"]["samples"] > 0 and record["warnings"] == []
        _, output = finished("alice", "echo ran", "--hybrid-mem=hbm", state="FAILED")
        assert len(OURS.findall(output)) == 1 and "ran" not in output


def test_steps_at_once():
    modes = ["fast", "slow", "interleave", "off"] * 2
    folder = slurm.folder_of("alice")
    # Each step waits until all run.
    wait = f"touch {folder}/at-$SLURM_STEP_ID; until [ $(ls {folder}/at-* | wc -l) = {len(modes)} ]; do sleep 0.2; done"
    (folder / "step.sh").write_text(f"{POLICY}\n{wait}\n")
    steps = "\n".join(f"srun -n1 --overlap --hybrid-mem={mode} bash {folder}/step.sh &" for mode in modes)
    job_id, text = finished("alice", f"{steps}\nwait", "--hybrid-mem=slow", "-n1")
    assert sorted(text.split()) == sorted([*POLICIES.values(), "default"] * 2)
    record = slurm.record(job_id)
    assert record["step_count"] == 1 + len(modes)


def test_requeue_makes_a_record_for_each_run():
    folder = slurm.folder_of("alice")
    script = f"{POLICY}; touch {folder}/ran-$SLURM_RESTART_COUNT; until [ -e {folder}/go ]; do sleep 0.2; done"
    job_id = slurm.sbatch("alice", script, "--hybrid-mem=slow", "--requeue", "--open-mode=append")
    slurm.wait_for(lambda: list(folder.glob("ran-*")), "the first run")
    slurm.requeue(job_id)
    slurm.wait_for((folder / "ran-1").exists, "the second run")
    (folder / "go").touch()
    assert slurm.wait_job(job_id) == "COMPLETED"
    slurm.wait_idle()
    runs = {record["restart_count"]: record for record in slurm.records(job_id)}
    assert sorted(runs) == [0, 1] and len(slurm.records(job_id)) == 2
    assert runs[1]["exit_code"] == 0
    assert slurm.output(job_id).count(POLICIES["slow"]) == 2


@pytest.mark.parametrize("binding", ["map_mem:0", "local"])
def test_an_explicit_mem_bind_wins_with_a_warning(binding):
    script = f"srun -n2 --overcommit --mem-bind={binding} {POLICY}"
    job_id, text = finished("alice", script, "--hybrid-mem=slow")
    policies = [word for word in text.split() if word.startswith("bind:")]
    assert len(policies) == 2 and set(policies) <= {"bind:0", "bind:1"}, text
    assert len(OURS.findall(text)) == 1 and "--mem-bind" in OURS.findall(text)[0]
    assert any("--mem-bind" in warning for warning in slurm.record(job_id)["warnings"])


@pytest.mark.parametrize("binding", ["none", "quiet"])
def test_a_mem_bind_that_binds_nothing_changes_nothing(binding):
    _, text = finished("alice", f"srun -n1 --mem-bind={binding} {POLICY}", "--hybrid-mem=slow")
    assert text.split() == [POLICIES["slow"]]


def test_task_affinity_stays():
    script = "srun -n1 bash -c 'grep Cpus_allowed_list /proc/self/status'"
    _, bound = finished("alice", script, "--hybrid-mem=slow")
    _, plain = finished("alice", script)
    assert bound == plain


@pytest.mark.main
@pytest.mark.parametrize("word", ["optional", "required"])
def test_what_this_node_cannot_serve_ends_before_its_first_instruction(word):
    with plugstack(word):
        job_id, text = finished("alice", "echo ran", "--hybrid-mem=hbm", state="FAILED")
        (line,) = OURS.findall(text)
        assert "hbm" in line and "ran" not in text
        done = slurm.run("srun -n2 --overcommit --hybrid-mem=hbm echo ran", user="bob", check=False)
        assert done.returncode != 0 and "ran" not in done.stdout
        assert len(OURS.findall(done.stderr)) == 1
        done = slurm.run("salloc -n1 srun --hybrid-mem=hbm echo ran", user="carol", check=False)
        assert "ran" not in done.stdout and "hbm" in done.stderr
        _, text = finished("alice", "srun -n1 --hybrid-mem=hbm echo ran; echo went on")
        assert "went on" in text and not re.search("^ran$", text, re.M)
        slurm.wait_idle()  # and not drained
        record = slurm.record(job_id)
        assert record["exit_code"] == 1 and any("hbm" in warning for warning in record["warnings"])


@pytest.mark.parametrize("word", ["optional", "required"])
def test_a_bad_text_is_refused_at_submission(word):
    with plugstack(word):
        for command in ("sbatch --wrap true", "srun true", "salloc true"):
            done = slurm.run(
                f"{command.split()[0]} --hybrid-mem=spil {command.split(' ', 1)[1]}", user="alice", check=False
            )
            lines = [line for line in done.stderr.splitlines() if "hybridmem" in line]
            assert done.returncode != 0 and len(lines) == 1 and '"spil"' in lines[0]
    assert slurm.wait_for(slurm.node_state, "scontrol's answer about the node") == "IDLE"


def test_the_nodes_own_verdict_on_a_text_that_passed_submission():
    """A login node with another configuration lets pass what the node does not allow."""
    elsewhere = Path("/etc/hybridmem/login.conf")
    with slurm.configured("", path=elsewhere), slurm.configured(slurm.CONFIG.read_text() + 'modes = { "fast" }\n'):
        with plugstack("required", f"config={elsewhere}"):
            job_id = slurm.sbatch("alice", "echo ran", "--hybrid-mem=slow", "--hold")
        slurm.run(f"scontrol release {job_id}")
        assert slurm.wait_job(job_id) == "FAILED"
        (line,) = OURS.findall(slurm.output(job_id))
        assert "slow" in line and "fast" in line
        # An inner srun's text is judged by the step.
        job_id = slurm.sbatch("alice", "srun --hybrid-mem=slow echo ran", "--hybrid-mem=fast", check=False)
        assert job_id.returncode == 0
        job_id = int(job_id.stdout)
        slurm.wait_job(job_id)
        assert "ran" not in slurm.output(job_id).split() and "slow" in slurm.output(job_id)
    slurm.wait_idle()


@pytest.mark.parametrize("word", ["config=relative.conf", "colour=blue", "config="])
def test_a_wrong_word_in_plugstack_is_named_and_ignored(word):
    with plugstack("optional", word):
        done = slurm.run(f"srun -n1 --hybrid-mem=slow {POLICY}", user="alice")
    assert done.stdout.split() == [POLICIES["slow"]]
    assert f'"{word}"' in done.stderr


# Far from what later kernels set by the firmware's figures: weights that are near enough already are left alone.
SEPARATE = """
tier "near" { nodes = "0-1" read_bandwidth = 60000 }
tier "far" { nodes = "2-3" read_bandwidth = 20000 }
channels "near+far" { kind = separate }
"""
WEIGHTS = Path("/sys/kernel/mm/mempolicy/weighted_interleave")
# The kernel writes this policy's name in two words: POLICY would show no nodes.
TWO_WORDS = "/usr/bin/awk 'NR == 1 { print $2, (/weighted/ ? $3 : none) }' /proc/self/numa_maps"


def weights():
    """Also whether the kernel sets them itself, which later kernels tell in a file beside the nodes'."""
    return {path.name: path.read_text().strip() for path in WEIGHTS.iterdir()}


@pytest.mark.main
def test_weights_are_set_for_a_job_that_is_alone_and_come_back():
    before = weights()
    steps = f"srun -n1 {TWO_WORDS}; srun -n1 --hybrid-mem=fast {TWO_WORDS}"
    script = f"{slurm.OVERLAP}{TWO_WORDS}; {steps}; cat {WEIGHTS}/node[0-3]"
    with slurm.configured(slurm.CONFIG.read_text() + SEPARATE):
        job_id, text = finished("alice", script, "--hybrid-mem=spill", "--partition=whole", "--exclusive")
    weighted = "weighted interleave=static:0-3"
    assert text.split() == f"{weighted} {weighted} {POLICIES['fast']} 3 3 1 1".split()
    slurm.wait_idle()
    assert weights() == before
    record = slurm.record(job_id)
    assert record["plan"]["weights"] == {"0": 3, "1": 3, "2": 1, "3": 1} and record["warnings"] == []


def test_sixty_four_tasks_are_placed_alike():
    script = f"srun -n64 --overcommit {POLICY}"
    job_id, text = finished("alice", script, "--hybrid-mem=interleave")
    assert text.split() == [POLICIES["interleave"]] * 64
    assert slurm.record(job_id)["warnings"] == []


def test_the_highest_exit_code_of_a_job_without_a_script():
    script = "echo $SLURM_JOB_ID; exit $SLURM_PROCID"
    done = slurm.run(f"srun -n4 --overcommit --hybrid-mem=slow bash -c '{script}'", user="alice", check=False)
    (job_id,) = set(done.stdout.split())
    assert slurm.record(int(job_id))["exit_code"] == 3, done.stderr


def test_slurmd_may_restart_under_a_job():
    with slurm.Occupied("alice", 64, "--hybrid-mem=slow") as held:
        monitors = slurm.wait_for(slurm.hybridmem_processes, "a monitor")
        slurm.run("scontrol reconfigure")
        # There are two for a moment: reconfigured, slurmd starts a new one, which takes over.
        slurm.run("while pkill -x slurmd; do sleep 0.1; done", check=False)
        slurm.run("slurmd -N n1")
        slurm.wait_for(lambda: slurm.node_state() in ("ALLOCATED", "MIXED"), "slurmd's return")
        assert slurm.hybridmem_processes() == monitors
        slurm.wait_sampled(held.job_id)
        assert held.end() == "COMPLETED"
    record = slurm.record(held.job_id)
    assert not any("monitor" in warning for warning in record["warnings"])
    assert sum(slurm.tier_bytes(record)) >= 64 * slurm.MIB
