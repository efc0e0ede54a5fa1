# SPDX-License-Identifier: Apache-2.0
"""Tests the plugin in Slurm's contexts: which request applies to which task, and what a refusal looks like."""

import contextlib
import re
from pathlib import Path

import nodes
import pytest
import slurm

# Prints the task's policy, as slurm.POLICY does, and the CPUs that task/affinity has given it.
POLICY_AND_CPUS = "/usr/bin/awk 'NR == 1 || /^Cpus_allowed_list/ { print $2 }' /proc/self/numa_maps /proc/self/status"
POLICIES = {"fast": "bind=static:0-1", "slow": "bind=static:2-3", "interleave": "interleave=static:0-3"}
VARIABLE = "SLURM_SPANK__SLURM_SPANK_OPTION_hybridmem_hybrid_mem"
INNER = (("as-the-job", ""), ("of-its-own", "--hybrid-mem=off"))  # jobs that a job submits
PLUGIN = re.compile(r"^(optional|required)\s+(\S+)", re.M)
OURS = re.compile(r"^hybridmem: .*$", re.M)


def plugin_path():
    return PLUGIN.search(slurm.PLUGSTACK.read_text()).group(2)


@contextlib.contextmanager
def plugstack(word, arguments=""):
    with slurm.configured(f"{word} {plugin_path()} {arguments}\n", path=slurm.PLUGSTACK):
        yield


def ended(job_id, state="COMPLETED"):
    """Wait until a batch job has ended in this state. Returns its output."""
    assert slurm.wait_job(job_id) == state, slurm.output(job_id)
    return slurm.output(job_id)


def finished(user, script, *options, state="COMPLETED", **more):
    job_id = slurm.sbatch(user, script, *options, **more)
    return job_id, ended(job_id, state)


def test_only_spanks_symbols_are_exported():
    names = slurm.run(f"nm -D --defined-only {plugin_path()} | awk '{{ print $3 }}'").stdout.split()
    assert {"plugin_name", "plugin_type", "plugin_version", "slurm_spank_init"} <= set(names)
    assert [n for n in names if not re.match(r"(spank_)?plugin_(name|type|version)$|slurm_spank_", n)] == []


@pytest.mark.slurm26
def test_the_option_is_in_help():
    for command in ("srun", "sbatch", "salloc"):
        text = slurm.run(f"{command} --help").stdout
        assert "--hybrid-mem=MODE[,KEY=VALUE]" in text
    built_for = re.search(r"for\s+Slurm\s+(\d+\.\d+)", text).group(1)
    assert slurm.run("salloc --version").stdout.split()[-1].startswith(built_for)


@pytest.mark.slurm26
def test_sbatch_srun_and_salloc_place_their_tasks():
    """Three jobs, each with a policy of its own."""
    job_id = slurm.sbatch("alice", f"{slurm.POLICY}; srun -n1 {slurm.POLICY}", "--hybrid-mem=fast")
    assert slurm.run(f"srun -n1 --hybrid-mem=slow {slurm.POLICY}", user="bob").stdout.split() == [POLICIES["slow"]]
    done = slurm.run(f"salloc -n1 --hybrid-mem=interleave srun {slurm.POLICY}", user="carol")
    assert done.stdout.split() == [POLICIES["interleave"]]
    assert ended(job_id).split() == [POLICIES["fast"]] * 2


@pytest.mark.slurm26
def test_an_inner_srun_wins_and_the_next_has_its_jobs_request_again():
    steps = "; ".join(f"srun -n1 {text} {POLICY_AND_CPUS}" for text in ("--hybrid-mem=slow", "--hybrid-mem=off", ""))
    job_id, text = finished("alice", f"{slurm.OVERLAP}{steps}", "--hybrid-mem=fast")
    assert text.split()[::2] == [POLICIES["slow"], "default", POLICIES["fast"]]
    assert len(set(text.split()[1::2])) == 1, (
        "a step has the same CPUs from task/affinity, whether its memory is placed or not"
    )
    record = slurm.record(job_id)
    assert record["request"] == "fast" and record["plan"]["mode"] == "fast"
    assert record["step_ids"] == ["batch", "0", "1", "2"]


def test_jobs_without_the_option_and_an_inner_srun_of_one():
    script = f"{slurm.OVERLAP}{slurm.POLICY}; srun -n1 --hybrid-mem=slow {slurm.POLICY}; srun -n1 {slurm.POLICY}"
    asking = slurm.sbatch("alice", script)
    silent = slurm.sbatch("bob", f"{slurm.POLICY}; srun -n1 {slurm.POLICY}")
    assert ended(asking).split() == ["default", POLICIES["slow"], "default"]
    assert ended(silent).split() == ["default"] * 2
    record = slurm.record(asking)
    assert record["plan"]["mode"] == "slow" and record["memory"]["samples"] > 0
    slurm.wait_idle()
    assert slurm.records(silent) == []


def test_the_default_from_the_environment_and_the_command_line_over_it():
    default = {VARIABLE: "slow"}
    # The default also holds for a job with an empty environment.
    bare = slurm.sbatch("alice", f"{slurm.POLICY}; srun -n1 {slurm.POLICY}", "--export=NONE", env=default)
    told = slurm.sbatch("alice", slurm.POLICY, "--hybrid-mem=fast", env=default)
    assert slurm.run(f"srun -n1 {slurm.POLICY}", user="alice", env=default).stdout.split() == [POLICIES["slow"]]
    assert ended(bare).split() == [POLICIES["slow"]] * 2
    assert ended(told).split() == [POLICIES["fast"]]


def test_a_job_that_a_job_submits_has_its_mode_or_its_own():
    inner = slurm.folder_of("alice") / "inner.sh"
    inner.write_text(f"#!/bin/bash\n{slurm.POLICY}\n")
    steps = (f"sbatch --wait -n1 -o {inner.parent}/{name} {option} {inner}" for name, option in INNER)
    finished("alice", "\n".join(steps), "--hybrid-mem=fast", "-n1")
    assert [(inner.parent / name).read_text().strip() for name, _ in INNER] == [POLICIES["fast"], "default"]


def test_scrontab_refuses_the_option():
    """It would accept it, and lose it. It asks slurmctld for nothing before."""
    folder = slurm.folder_of("alice")
    conf, table = folder / "slurm.conf", folder / "table"
    own = "ScronParameters=enable\nPlugStackConfig=/etc/slurm/plugstack.conf\n"
    conf.write_text(Path("/etc/slurm/slurm.conf").read_text() + own)
    table.write_text("#SCRON --hybrid-mem=spill\n0 0 1 1 * true\n")
    done = slurm.run(f"scrontab {table}", user="alice", env={"SLURM_CONF": str(conf)}, check=False)
    assert done.returncode != 0
    assert "--hybrid-mem=spill: scrontab does not send it to Slurm" in done.stderr, done.stdout + done.stderr


def test_array():
    job_id = slurm.sbatch("alice", slurm.POLICY, "--hybrid-mem=slow", "--array=3-5", "-n1")
    slurm.wait_no_jobs()
    slurm.wait_idle()
    found = [record for record in slurm.all_records() if record["array_job_id"] == job_id]
    assert sorted(record["array_task_id"] for record in found) == [3, 4, 5]
    assert len({record["job_id"] for record in found}) == 3


def test_private_tmp_and_hooks_in_the_jobs_container():
    """job_container/tmpfs gives the job a mount namespace; contain_spank runs some of the plugin's hooks in it."""
    text = nodes.SLURM_CONF.read_text() + "JobContainerType=job_container/tmpfs\nSlurmdParameters=contain_spank\n"
    container = Path("/etc/slurm/job_container.conf")
    with slurm.configured("AutoBasePath=true\nBasePath=/var/tmp/private\n", path=container), nodes.reconfigured(text):
        script = f"touch /tmp/mine; srun -n2 --overcommit {slurm.POLICY}; exit 3"
        job_id, output = finished("alice", script, "--hybrid-mem=slow", state="FAILED")
        assert not Path("/tmp/mine").exists()
        assert output.split() == [POLICIES["slow"]] * 2
        record = slurm.record(job_id)
        assert record["exit_code"] == 3 and record["memory"]["samples"] > 0 and record["warnings"] == []
        _, output = finished("alice", "echo ran", "--hybrid-mem=hbm", state="FAILED")
        assert len(OURS.findall(output)) == 1 and "ran" not in output


def test_steps_at_once():
    modes = ["fast", "slow", "interleave", "off"]
    folder = slurm.folder_of("alice")
    # Each step waits until all run.
    wait = f"touch {folder}/at-$SLURM_STEP_ID; until [ $(ls {folder}/at-* | wc -l) = {len(modes)} ]; do sleep 0.2; done"
    (folder / "step.sh").write_text(f"{slurm.POLICY}\n{wait}\n")
    steps = "\n".join(f"srun -n1 --overlap --hybrid-mem={mode} bash {folder}/step.sh &" for mode in modes)
    job_id, text = finished("alice", f"{steps}\nwait", "--hybrid-mem=slow", "-n1")
    assert sorted(text.split()) == sorted([*POLICIES.values(), "default"])
    record = slurm.record(job_id)
    assert record["step_count"] == 1 + len(modes)


def test_an_explicit_mem_bind_wins_with_a_warning_where_it_binds():
    """A step says the warning once for all of its tasks."""
    bindings = ("map_mem:0", "local", "none", "quiet")
    steps = "\n".join(f"echo :; srun -n2 --overcommit --mem-bind={binding} {slurm.POLICY} 2>&1" for binding in bindings)
    job_id, text = finished("alice", f"{slurm.OVERLAP}{steps}", "--hybrid-mem=slow")
    for binding, said in zip(bindings, text.split(":\n")[1:], strict=True):
        policies = [line for line in said.splitlines() if re.match("bind|default", line)]
        if binding in ("none", "quiet"):
            assert policies == [POLICIES["slow"]] * 2 and OURS.findall(said) == []
        else:
            assert len(policies) == 2 and set(policies) <= {"bind:0", "bind:1"}, said
            (line,) = OURS.findall(said)
            assert "--mem-bind" in line
    assert any("--mem-bind" in warning for warning in slurm.record(job_id)["warnings"])


@pytest.mark.slurm26
@pytest.mark.parametrize("word", ["optional", "required"])
def test_what_cannot_be_is_refused_at_submission_or_ends_before_its_first_instruction(word):
    """One request (spil) is malformed; the other one (hbm) asks for memory that this node does not have."""
    with plugstack(word):
        for command, argument in (("sbatch", "--wrap=true"), ("srun", "true"), ("salloc", "true")):
            done = slurm.run(f"{command} --hybrid-mem=spil {argument}", user="alice", check=False)
            # The line begins with the command's name.
            (line,) = [line for line in done.stderr.splitlines() if "hybridmem" in line]
            assert done.returncode != 0 and '"spil"' in line
        refused = slurm.sbatch("alice", "echo ran", "--hybrid-mem=hbm")
        inner = slurm.sbatch("alice", "srun -n1 --hybrid-mem=hbm echo ran; echo went on")
        done = slurm.run("srun -n2 --overcommit --hybrid-mem=hbm echo ran", user="bob", check=False)
        assert done.returncode != 0 and "ran" not in done.stdout
        assert len(OURS.findall(done.stderr)) == 1
        done = slurm.run("salloc -n1 srun --hybrid-mem=hbm echo ran", user="carol", check=False)
        assert "ran" not in done.stdout and "hbm" in done.stderr
        text = ended(refused, "FAILED")
        (line,) = OURS.findall(text)
        assert "hbm" in line and "ran" not in text
        text = ended(inner)
        assert "went on" in text and not re.search("^ran$", text, re.M)
        slurm.wait_idle()  # the node must not be drained
        record = slurm.record(refused)
        assert record["exit_code"] == 1 and any("hbm" in warning for warning in record["warnings"])


def test_the_nodes_own_verdict_on_a_text_that_passed_submission():
    """A login node with another configuration accepts what the compute node does not allow."""
    elsewhere = Path("/etc/hybridmem/login.conf")
    with slurm.configured("", path=elsewhere), slurm.configured(slurm.CONFIG.read_text() + 'modes = { "fast" }\n'):
        with plugstack("required", f"config={elsewhere}"):
            refused = slurm.sbatch("alice", "echo ran", "--hybrid-mem=slow", "--hold")
        slurm.run(f"scontrol release {refused}")
        # An srun in the script checks its request itself: it runs on the node, and reads the node's configuration.
        inner = slurm.sbatch("alice", "srun --hybrid-mem=slow echo ran; echo went on", "--hybrid-mem=fast")
        (line,) = OURS.findall(ended(refused, "FAILED"))
        assert "slow" in line and "fast" in line
        text = ended(inner)
        assert "ran" not in text.split() and "went on" in text and "slow" in text
    slurm.wait_idle()


def test_wrong_words_in_plugstack_are_named_and_ignored():
    words = ("config=relative.conf", "colour=blue", "config=")
    with plugstack("optional", " ".join(words)):
        done = slurm.run(f"srun -n1 --hybrid-mem=slow {slurm.POLICY}", user="alice")
    assert done.stdout.split() == [POLICIES["slow"]]
    assert all(f'"{word}"' in done.stderr for word in words), done.stderr


def test_sixty_four_tasks_are_placed_alike():
    job_id, text = finished("alice", f"srun -n64 --overcommit {slurm.POLICY}", "--hybrid-mem=interleave")
    assert text.split() == [POLICIES["interleave"]] * 64
    record = slurm.record(job_id)
    assert record["warnings"] == [] and record["array_job_id"] is None and record["array_task_id"] is None


def test_the_highest_exit_code_of_a_job_without_a_script():
    script = "echo $SLURM_JOB_ID; exit $SLURM_PROCID"
    done = slurm.run(f"srun -n4 --overcommit --hybrid-mem=slow bash -c '{script}'", user="alice", check=False)
    (job_id,) = set(done.stdout.split())
    assert slurm.record(int(job_id))["exit_code"] == 3, done.stderr
