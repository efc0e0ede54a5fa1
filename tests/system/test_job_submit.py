# SPDX-License-Identifier: Apache-2.0
"""Tests the job_submit snippet in a real slurmctld, and the cli_filter snippet in real clients."""

import json
import shlex
from pathlib import Path

import pytest
import slurm

GRES_CONF = Path("/etc/slurm/gres.conf")
GRES = """NodeName=n1 Name=pmem Type=socket0 Count=256M Flags=CountOnly
NodeName=n1 Name=pmem Type=socket1 Count=256M Flags=CountOnly
NodeName=n1 Name=scratch Count=4 Flags=CountOnly
"""
JOB_SUBMIT = Path("/etc/slurm/job_submit.lua")
SLURM_CONF = Path("/etc/slurm/slurm.conf")
GLUE = """
local hybridmem = dofile("/usr/share/hybridmem/hybridmem-job-submit.lua")
hybridmem.allowed.partition.whole = { "fast" }
hybridmem.pmem.types = { "socket0", "socket1" }
hybridmem.memmode.flat = "memmode=flat"
hybridmem.reboot.who = { user = { "alice" } }
function slurm_job_submit(job_desc, part_list, submit_uid)
    return hybridmem.submit(job_desc, part_list)
end
function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
    return hybridmem.modify(job_desc, job_rec)
end
"""
CLI_FILTER = """
local hybridmem = dofile("/usr/share/hybridmem/hybridmem-cli-filter.lua")
hybridmem.memmode.flat = "memmode=flat"
function slurm_cli_setup_defaults(options, early_pass)
    return slurm.SUCCESS
end
function slurm_cli_pre_submit(options, pack_offset)
    return hybridmem.pre_submit(options)
end
function slurm_cli_post_submit(offset, job_id, step_id)
    return slurm.SUCCESS
end
"""


@pytest.fixture(scope="module", autouse=True)
def job_submit():
    """The node has the features of both modes of memory, which a real one never has at once."""
    node = "NodeName=n1 Gres=pmem:socket0:256M,pmem:socket1:256M,scratch:4"
    features = "Features=rack1,rack2,memmode=cache,memmode=flat"
    text = SLURM_CONF.read_text().replace("NodeName=n1 ", f"{node} {features} ")
    text += "JobSubmitPlugins=lua\nGresTypes=pmem,scratch\n"
    try:
        with (
            slurm.configured(text, SLURM_CONF),
            slurm.configured(GRES, GRES_CONF),
            slurm.configured(GLUE, JOB_SUBMIT),
        ):
            slurm.restart("slurmctld", "slurmd")
            yield
    finally:
        slurm.restart("slurmctld", "slurmd")


@pytest.fixture(autouse=True)
def no_job_is_left(clean_node):
    yield
    slurm.run("scancel --user=alice", check=False)  # jobs that a failed test has left, also held ones


def told(job_id):
    """scontrol's fields of a job that exists; asked again where there is no answer."""
    return slurm.wait_for(lambda: slurm.job(job_id), f"scontrol's answer about {job_id}")


def test_modes_are_refused_by_partition_at_submission_and_when_a_job_is_moved():
    refused = slurm.sbatch("alice", "true", "--hybrid-mem=spill", "-p", "whole", check=False)
    assert refused.returncode != 0
    assert "--hybrid-mem=spill is not allowed in partition whole: use off, fast" in refused.stderr
    refused = slurm.run("srun --hybrid-mem=spill -p whole true", user="alice", check=False)
    assert refused.returncode != 0 and "is not allowed in partition whole" in refused.stderr
    held = slurm.sbatch("alice", "true", "--hybrid-mem=spill", "--hold")
    moved = slurm.run(f"scontrol update jobid={held} partition=whole", user="alice", check=False)
    assert moved.returncode != 0 and told(held)["Partition"] == "main"
    slurm.run(f"scancel {held}")
    allowed = slurm.sbatch("alice", "true", "--hybrid-mem=fast", "-p", "whole")
    assert slurm.wait_job(allowed) == "COMPLETED"


def test_jobs_that_together_want_more_than_there_is_wait_for_each_other():
    """The second job also asks for --gres=0: Slurm ignores what comes after such an item in a list of GRES."""
    folder = slurm.folder_of("alice")
    script = f"touch {folder}/$1; until [ -e {folder}/go ]; do sleep 0.2; done; ls -d $HYBRIDMEM_FSDAX_DIR"
    first, second = (
        slurm.sbatch("alice", script.replace("$1", name), "--hybrid-mem=fsdax,size=320M", "-n1", *words)
        for name, *words in (("first",), ("second", "--gres=0"))
    )
    try:
        slurm.wait_for(lambda: (folder / "first").exists(), "the first job")
        # Slurm says Priority until its scheduler has looked at the job for the first time.
        slurm.wait_for(lambda: told(second)["Reason"] == "Resources", "the second job's wait for resources", every=0.3)
        waiting = told(second)
        assert waiting["JobState"] == "PENDING", waiting
        assert "pmem:socket0" in waiting["TresPerNode"] and "pmem:socket1" in waiting["TresPerNode"]
        small = slurm.sbatch("alice", f"touch {folder}/small", "--hybrid-mem=fsdax,size=128M", "-n1")
        assert slurm.wait_job(small) == "COMPLETED" and not (folder / "second").exists()
    finally:
        (folder / "go").touch()
    for job_id in (first, second):
        assert slurm.wait_job(job_id) == "COMPLETED", slurm.output(job_id)
        assert len(slurm.record(job_id)["namespaces"]) == 2


def test_what_is_kept_is_in_no_jobs_gres():
    held, counted = (
        slurm.sbatch("alice", "true", f"--hybrid-mem=fsdax,size=128M{word}", "--hold") for word in (",keep", "")
    )
    assert "pmem" not in told(held).get("TresPerNode", "")
    assert "pmem:socket0" in told(counted)["TresPerNode"]
    slurm.run(f"scancel {held} {counted}")


def test_a_pending_jobs_memory_stays_counted_whatever_becomes_of_its_gres():
    """A change of the job's GRES that names pmem is refused. Any other change, even to no GRES at all, keeps what size=
    asks for."""
    held = slurm.sbatch("alice", "ls -d $HYBRIDMEM_FSDAX_DIR", "--hybrid-mem=fsdax,size=128M", "-n1", "--hold")
    counted = told(held)["TresPerNode"]
    assert "pmem:socket0" in counted and "pmem:socket1" in counted

    def change(words):
        return slurm.run(f"scontrol update jobid={held} {words}", user="alice", check=False)

    for lower in ("gres=pmem:socket0:1", "TresPerNode=gres/scratch:1,gres/pmem:socket1:1M", "gres=pmem:0"):
        refused = change(lower)
        assert refused.returncode != 0, lower
        assert "is asked for by size= of --hybrid-mem=fsdax: leave it out" in refused.stderr, refused.stderr
        assert told(held)["TresPerNode"] == counted
    for words, besides in (("gres=scratch:1", ",gres/scratch:1"), ("TresPerNode=", ""), ("gres=", "")):
        assert change(words).returncode == 0, words
        assert told(held)["TresPerNode"] == counted + besides
    slurm.run(f"scontrol release {held}", user="alice")
    assert slurm.wait_job(held) == "COMPLETED", slurm.output(held)
    assert len(slurm.record(held)["namespaces"]) == 2


def test_users_may_change_the_gres_of_a_job_without_file_systems():
    held = slurm.sbatch("alice", "true", "--gres=pmem:socket0:1M", "--hold")
    slurm.run(f"scontrol update jobid={held} gres=", user="alice")
    assert "pmem" not in told(held).get("TresPerNode", "")
    slurm.run(f"scancel {held}")


def test_a_job_asks_for_nodes_in_its_mode_whatever_its_constraint():
    """slurmctld takes the constraint that is made of each form of a job's own."""
    for own, joined in {
        "": "memmode=cache",
        "rack1": "rack1&memmode=cache",
        "rack1|rack2": "rack1&memmode=cache|rack2&memmode=cache",
        "(rack1|rack2)&rack1": "(rack1|rack2)&rack1&memmode=cache",
        "(rack1&rack2)|rack1": "(rack1&rack2)&memmode=cache|rack1&memmode=cache",
    }.items():
        held = slurm.sbatch("alice", "true", "--hybrid-mem=memory", "--hold", *(["-C", own] if own else []))
        assert told(held)["Features"] == joined
        slurm.run(f"scancel {held}")
    held = slurm.sbatch("alice", "true", "--hybrid-mem=spill", "--hold", "--prefer=rack1")
    assert told(held)["Features"] == "memmode=flat"
    changed = slurm.run(f"scontrol update jobid={held} features=memmode=cache", user="alice", check=False)
    assert changed.returncode != 0 and "it names memmode=cache: leave that out" in changed.stderr
    slurm.run(f"scontrol update jobid={held} features=rack2", user="alice")
    assert told(held)["Features"] == "rack2&memmode=flat"
    slurm.run(f"scancel {held}")
    refused = slurm.sbatch("alice", "true", "--hybrid-mem=memory", "-C", "[rack1|rack2]", check=False)
    assert refused.returncode != 0 and "Slurm takes none of [ ] * beside it" in refused.stderr
    for words in (["--hybrid-mem=memory"], ["-C", "memmode=cache"]):
        refused = slurm.sbatch("bob", "true", *words, check=False)
        assert refused.returncode != 0 and "nodes with memmode=cache are for jobs with user alice" in refused.stderr


OPTION = "_SLURM_SPANK_OPTION_hybridmem_hybrid_mem"
MEMORY, SPILL = ({"spank_environment": [f"{OPTION}={mode}"]} for mode in ("memory", "spill"))


def post(user, **job):
    """Submits a batch job by Slurm's REST API, as the user. Gives the job's number, None if it was refused, and what
    slurmrestd has said. It takes one request from its input, as under inetd."""
    fields = {"script": "#!/bin/sh\n", "environment": ["PATH=/usr/bin"], "current_working_directory": "/tmp", **job}
    body = json.dumps({"job": fields})
    head = ("POST /slurm/v0.0.42/job/submit HTTP/1.1", "Content-Type: application/json", f"Content-Length: {len(body)}")
    request = "\r\n".join((*head, "Connection: close", "", body))
    daemon = "/usr/sbin/slurmrestd -a rest_auth/local -s slurmctld -d v0.0.42"
    done = slurm.run(f"printf %s {shlex.quote(request)} | {daemon}", user=user, check=False)
    answer, _ = json.JSONDecoder().raw_decode(done.stdout.partition("\n\n")[2])
    return answer.get("job_id"), f"{answer}\n{done.stderr}"


def test_a_client_of_slurms_rest_api_gets_the_same_nodes():
    """It runs neither a cli_filter nor our plugin, and may send the option under the name that it has in a prolog. In
    the environment of the job's script the option is the script's, as that of an srun in the job, and not the job's."""
    for asked, features in (
        ({**MEMORY, "constraints": "rack1"}, "rack1&memmode=cache"),
        ({"spank_environment": [f"SPANK_{OPTION}=memory"]}, "memmode=cache"),
        (SPILL, "memmode=flat"),
        ({"environment": [f"{OPTION}=memory"]}, "(null)"),
    ):
        held, said = post("alice", hold=True, **asked)
        assert held, said
        assert told(held)["Features"] == features
        slurm.run(f"scancel {held}")


def test_what_a_client_of_slurms_rest_api_may_not_have_is_refused():
    """The answer has Slurm's error, and slurmrestd's log our line."""
    feature, denied = "Invalid feature specification", "Access/permission denied"
    for user, error, line, asked in (
        ("alice", feature, "leave that out", {**SPILL, "constraints": "memmode=cache"}),
        ("alice", denied, "give it once", {"spank_environment": [f"{OPTION}=spill", f"SPANK_{OPTION}=memory"]}),
        ("bob", denied, "are for jobs with user alice", MEMORY),
    ):
        held, said = post(user, hold=True, **asked)
        assert held is None and error in said and line in said, said


def test_a_job_of_slurms_rest_api_is_placed_as_it_asks():
    folder = slurm.folder_of("alice")
    script = f"#!/bin/sh\n{slurm.POLICY}\n"
    out = {"standard_output": f"{folder}/out"}
    job_id, said = post("alice", script=script, spank_environment=[f"{OPTION}=slow,socket=all"], **out)
    assert job_id, said
    assert slurm.wait_job(job_id) == "COMPLETED", slurm.run(f"cat {folder}/out").stdout
    assert (folder / "out").read_text() == "bind=static:2-3\n"
    assert slurm.record(job_id)["request"] == "slow,socket=all"


def test_a_job_on_a_node_without_a_cache_ends_before_its_first_instruction():
    job_id = slurm.sbatch("alice", "echo ran", "--hybrid-mem=memory")
    assert slurm.wait_job(job_id) == "FAILED"
    (line,) = slurm.output(job_id).splitlines()
    assert "the job needs a node that has one, by the constraint memmode=cache" in line
    assert slurm.record(job_id)["plan"] is None


def test_clients_are_told_before_they_submit():
    """With cli_filter in a configuration of the client's own: nothing reaches slurmctld."""
    folder = slurm.folder_of("alice")
    (folder / "slurm.conf").write_text(SLURM_CONF.read_text() + "CliFilterPlugins=cli_filter/lua\n")
    (folder / "cli_filter.lua").write_text(CLI_FILTER)
    (folder / "plugstack.conf").write_text((SLURM_CONF.parent / "plugstack.conf").read_text())
    client = {"SLURM_CONF": str(folder / "slurm.conf")}
    refused = slurm.sbatch("alice", "true", "--hybrid-mem=spill", "-C", "memmode=cache", check=False, env=client)
    assert refused.returncode != 0 and "it names memmode=cache: leave that out" in refused.stderr
    assert "lua: hybridmem:" in refused.stderr, "the line is the client's own"
    held = slurm.sbatch("alice", "true", "--hybrid-mem=memory", "-C", "rack1|rack2", "--hold", env=client)
    assert told(held)["Features"] == "rack1&memmode=cache|rack2&memmode=cache"
    slurm.run(f"scancel {held}")
    inside = "srun -n1 --hybrid-mem=fast echo a step has the nodes of its job"
    job_id = slurm.sbatch("alice", f"export SLURM_CONF={folder}/slurm.conf; {inside}", "-C", "memmode=cache")
    assert slurm.wait_job(job_id) == "COMPLETED" and "a step has" in slurm.output(job_id), slurm.output(job_id)
