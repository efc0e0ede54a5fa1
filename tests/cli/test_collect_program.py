# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem-collect as a program, with scripts in place of Slurm's commands."""

import os
import re
import select
import signal
import stat
import subprocess
import sys

import pytest
from collecting import END, START, SUBMIT, entry, leave
from hybridmem import collect, commands, summaries
from installed import LIBEXEC, helper
from makerecords import record, write

PATIENCE = 120  # seconds; ends a wait for something that never comes
# A row of the database is a file NAME.row (JobIDRaw|Submit|End|FIELD) in the folder. Each call adds a line to `calls`.
SACCT = """
for word; do case $word in --jobs=*) name=${word#--jobs=} ;; esac; done
[ ! -e "$0.fails" ] || { cat "$0.fails" >&2; exit 1; }
[ "$SLURM_TIME_FORMAT" = %s ] || exit 9
[ ! -e "$name.row" ] || cat "$name.row"
"""
SACCTMGR = """
for word; do case $word in jobid=*) name=${word#jobid=} ;; AdminComment=*) text=${word#AdminComment=} ;; esac; done
[ -e "$name.row" ] || { echo " Error with request: No change in data" >&2; exit 1; }
cut -d'|' -f1-3 "$name.row" | tr '\\n' '|' >"$name.new" && echo "$text" >>"$name.new" && mv "$name.new" "$name.row"
[ ! -e "$0.kills" ] || { rm "$0.kills"; kill -9 $PPID; }
"""
SCONTROL = """
[ "$1 $2" = "show hostnames" ] || exit 9
[ "$3" = "n[1-3]" ] && printf 'n1\\nn2\\nn3\\n' && exit 0
echo "Invalid hostlist: $3" >&2; exit 1
"""


class Site:
    def __init__(self, folder, configure):
        self.folder, self.spool, self.records = folder / "slurm", folder / "spool", folder / "records"
        self.spool.mkdir(mode=0o700)
        self.folder.mkdir()
        self.records.mkdir()
        for name, text in (("sacct", SACCT), ("sacctmgr", SACCTMGR), ("scontrol", SCONTROL)):
            path = self.folder / name
            path.write_text(f'#!/bin/sh\ncd {self.folder} || exit 9\necho "{name} $*" >>calls\n{text}')
            path.chmod(0o755)
        self.config = configure(
            f'record_dir = "{self.records}"\nspool_dir = "{self.spool}"\nsummary_field = AdminComment\n'
            "summary_rate = 6000\ncollect_wait = 0s\n"
        )

    def row(self, name, job_id, text=""):
        (self.folder / f"{name}.row").write_text(f"{job_id}|{SUBMIT}|{END}|{text}\n")

    def text(self, name):
        return (self.folder / f"{name}.row").read_text().strip().split("|")[3]

    def calls(self):
        return (self.folder / "calls").read_text().splitlines()

    def once(self, *words, status=0):
        return helper(
            "hybridmem-collect", "--once", "--config", self.config, "--slurm", self.folder, *words, status=status
        )

    def left(self):
        return sorted(path.name for path in self.spool.glob("*.json"))


@pytest.fixture
def site(tmp_path, configure):
    return Site(tmp_path, configure)


def test_a_job_of_three_nodes(site):
    leave(site.spool, entry(nodes="n[1-3]"))
    write(site.records, record(7, node="n1"), record(7, node="n3"))
    site.row("7", 7)
    assert site.once().stderr == "" and site.left() == []
    made = summaries.decode(site.text("7"))
    assert (made["nodes"], made["reported"], made["missing"]) == (3, 2, "n2")
    assert site.calls() == [
        "scontrol show hostnames n[1-3]",
        "sacct --allocations --duplicates --noheader --parsable2 --clusters=test "
        "--format=JobIDRaw,Submit,End,AdminComment --jobs=7",
        f"sacctmgr --immediate update job where jobid=7 cluster=test set AdminComment={site.text('7')}",
    ]


def test_from_slurmctlds_epilog_to_its_database(site):
    """The collector takes what hybridmem-spool leaves."""
    job = {
        "SLURM_JOB_ID": "21",
        "SLURM_JOB_UID": "1001",
        "SLURM_ARRAY_JOB_ID": "20",
        "SLURM_ARRAY_TASK_ID": "4",
        "SLURM_CLUSTER_NAME": "test",
        "SLURM_JOB_NODELIST": "n[1-3]",
        "SLURM_JOB_START_TIME": str(START),
        "SLURM_JOB_END_TIME": str(END),
        "SPANK__SLURM_SPANK_OPTION_hybridmem_hybrid_mem": "spill",
    }
    assert helper("hybridmem-spool", "--config", site.config, env=job).stderr == ""
    write(site.records, *(record(21, node=f"n{i}") for i in (1, 2, 3)))
    site.row("20_4", 21)
    assert site.once().stderr == "" and site.left() == []
    made = summaries.decode(site.text("20_4"))
    assert (made["job_id"], made["array_job_id"], made["array_task_id"], made["reported"]) == (21, 20, 4, 3)


def test_arrays_and_heterogeneous_jobs(site):
    """One task of an array has the array's own id, and the leader of a heterogeneous job has the whole job's. sacctmgr
    would take such an id for all of the job."""
    jobs = {
        "20_3": {"job_id": 20, "array_job_id": 20, "array_task_id": 3},
        "20_4": {"job_id": 21, "array_job_id": 20, "array_task_id": 4},
        "30+0": {"job_id": 30, "het_job_id": 30, "het_job_offset": 0},
        "30+1": {"job_id": 31, "het_job_id": 30, "het_job_offset": 1},
    }
    for name, made in jobs.items():
        leave(site.spool, entry(cluster=None, **made))
        write(site.records, record(made["job_id"]))
        site.row(name, made["job_id"])
    site.once()
    assert site.left() == []
    for name, made in jobs.items():
        assert summaries.decode(site.text(name))["job_id"] == made["job_id"]
    assert not any("cluster" in call for call in site.calls())


def test_killed_between_the_database_and_the_removal(site):
    leave(site.spool, entry())
    write(site.records, record(7))
    site.row("7", 7)
    (site.folder / "sacctmgr.kills").touch()
    assert site.once(status=-signal.SIGKILL).stderr == ""
    written = site.text("7")
    assert site.left() == [f"7.{END}.json"] and summaries.decode(written)["reported"] == 1
    site.once()
    assert site.left() == [] and site.text("7") == written
    assert sum(call.startswith("sacctmgr") for call in site.calls()) == 1


def test_a_database_that_is_down(site):
    """Entries wait as long as the database is down."""
    leave(site.spool, entry(7), entry(8))
    (site.folder / "sacct.fails").write_text("sacct: error: Problem talking to the database\nmore\n")
    said = "sacct failed with status 1: sacct: error: Problem talking to the database; it is tried again"
    assert site.once().stderr == f"hybridmem-collect: {said}\n"
    assert len(site.left()) == 2 and list((site.spool / "aside").iterdir()) == []


def test_a_job_that_the_database_did_not_know_for_a_day(site):
    """Failures that earlier collectors have noted count, too."""
    leave(site.spool, entry())
    assert site.once().stderr == ""
    note = site.spool / f"7.{END}.json.failed"
    assert re.fullmatch(r"0 \d+\n", note.read_text()) and site.left()
    note.write_text(note.read_text().replace("0 ", "86400 ", 1))
    site.once()
    why = site.spool / "aside" / f"7.{END}.json.why"
    assert why.read_text() == "given up after a day: Slurm's database does not know job 7\n" and site.left() == []
    assert stat.S_IMODE(why.parent.stat().st_mode) == 0o700
    assert not note.exists()


def test_only_one_collector_works_on_a_folder(site):
    script = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.flock(f, 2); print(1, flush=1); input()"
    holder = subprocess.Popen(
        [sys.executable, "-c", script, site.spool / "lock"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    holder.stdout.readline()
    leave(site.spool, entry())
    site.row("7", 7)
    assert site.once(status=1).stderr == f"hybridmem-collect: another hybridmem-collect has {site.spool}\n"
    holder.communicate(b"\n")
    site.once()
    assert site.left() == []


def test_the_service_goes_on(site):
    """Without --once the collector does not end by itself. Its first pass handles the entries that are there."""
    leave(site.spool, entry())
    write(site.records, record(7))
    site.row("7", 7)
    fifo = site.folder / "done"
    os.mkfifo(fifo)
    written = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    with (site.folder / "sacctmgr").open("a") as script:
        script.write(f"echo >{fifo}\n")
    words = [LIBEXEC / "hybridmem-collect", "--config", site.config, "--slurm", site.folder]
    service = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    try:
        assert select.select([written], [], [], PATIENCE)[0], "the first pass wrote nothing"
        assert service.poll() is None
    finally:
        service.terminate()
        os.close(written)
    assert service.communicate()[1] == "" and service.returncode == -signal.SIGTERM
    assert summaries.decode(site.text("7"))["reported"] == 1


def test_nothing_to_do(site, configure):
    config = configure("")
    done = helper("hybridmem-collect", "--once", "--config", config)
    assert done.stderr == "hybridmem-collect: summary_field is none in hybridmem.conf: there is nothing to do\n"


def test_folders_that_the_collector_cannot_work_without(site, configure, tmp_path):
    for text, said in (
        ("summary_field = maybe\n", "summary_field: "),
        (
            f'summary_field = AdminComment\nrecord_dir = "{tmp_path}/none"\n',
            f"there is no record_dir {tmp_path}/none: ",
        ),
        (
            f'summary_field = AdminComment\nrecord_dir = "{site.records}"\nspool_dir = "{tmp_path}/none"\n',
            f"spool_dir {tmp_path}/none: No such file or directory",
        ),
    ):
        (line,) = helper("hybridmem-collect", "--once", "--config", configure(text), status=1).stderr.splitlines()
        assert line.startswith("hybridmem-collect: ") and said in line and "hybridmem config" not in line


@pytest.mark.parametrize(
    ("owner", "mode", "said"),
    [
        (1, 0o755, "spool_dir {} belongs to daemon: run this as daemon"),
        (64031, 0o700, "spool_dir {} belongs to user 64031: run this as user 64031"),
        (0, 0o770, "others than its owner may write in spool_dir {}: chmod go-w {}"),
    ],
)
def test_a_spool_that_is_not_ours_is_left_as_it_is(site, owner, mode, said):
    """The collector says what is wrong, and makes nothing in the folder. It does not change the folder's owner or mode
    itself, as hybridmem-spool also uses the folder, and writes as SlurmUser."""
    site.spool.chmod(mode)
    os.chown(site.spool, owner, -1)
    assert site.once(status=1).stderr == f"hybridmem-collect: {said.format(site.spool, site.spool)}\n"
    assert list(site.spool.iterdir()) == []


def test_unreadable_records_name_the_group_to_join(tmp_path, monkeypatch):
    def denied(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", denied)
    tmp_path.chmod(0o711)
    with pytest.raises(commands.Failure, match=r"make the user who runs this a member of staff \(record_group\)$"):
        collect.check_records(tmp_path, "staff")
    with pytest.raises(commands.Failure, match="make the user who runs this a member of staff"):
        collect.check_records(tmp_path / "gone", "staff")  # as where it cannot be looked at
    tmp_path.chmod(0o751)  # this process is in its group, and the kernel would let it in: a server has not
    with pytest.raises(commands.Failure, match=r"\(manage-gids\): make the user a member of staff on the server$"):
        collect.check_records(tmp_path, "staff")


@pytest.mark.parametrize("name", ["scontrol", "sacct", "sacctmgr"])
def test_without_slurms_commands(site, name):
    leave(site.spool, entry())
    (site.folder / name).unlink()
    assert site.once(status=1).stderr == f"hybridmem-collect: {name} is not in {site.folder}\n"
    assert site.left()


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("now", "unexpected word 'now'"),
        ("--onse", "unrecognized option '--onse'"),
        ("--config", "option '--config' requires an argument"),
    ],
)
def test_wrong_arguments(word, said):
    done = helper("hybridmem-collect", word, status=2)
    assert done.stderr == f"hybridmem-collect: {said}. Try 'hybridmem-collect --help'.\n"


@pytest.fixture
def command(tmp_path):
    def make(text):
        path = tmp_path / "command"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return str(path)

    return make


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("exit 3", "command failed with status 3"),
        ("echo; echo ' why '; echo more; exit 1", "command failed with status 1: why"),
        ("echo out; echo err >&2; exit 1", "command failed with status 1: err"),
        ("kill -9 $$", "command was ended by signal 9"),
        ("exec sleep 1000", "command was ended by signal 9"),
        ("sleep 1000; exit", "command was ended by signal 9"),  # what it has started has its output
        ("exec yes", "command says more than 1000 bytes"),
    ],
)
def test_commands_that_fail(command, text, said):
    with pytest.raises(commands.Failed) as failed:
        commands.run([command(text)], patience=0.2 if "sleep" in text else 60, most=1000)
    assert str(failed.value) == said


def test_commands_get_a_clean_environment(command, monkeypatch):
    monkeypatch.setenv("SLURM_CONF", "/x/slurm.conf")
    monkeypatch.setenv("LD_PRELOAD", "")
    monkeypatch.setenv("SACCT_FORMAT", "user")
    said = commands.run([command("env; cat")], SLURM_TIME_FORMAT="%s")
    assert sorted(line for line in said.splitlines() if not line.startswith(("PWD", "SHLVL", "_", "OLDPWD"))) == [
        *("LC_ALL=C", "PATH=/usr/bin:/bin", "SLURM_CONF=/x/slurm.conf", "SLURM_TIME_FORMAT=%s")
    ]


def test_commands_are_found(tmp_path, monkeypatch):
    """Root does not search PATH, which may belong to somebody else."""
    program = tmp_path / "sacct"
    program.touch(mode=0o755)
    monkeypatch.setattr(commands, "FOLDERS", [])
    monkeypatch.setenv("PATH", f":{tmp_path}")
    monkeypatch.setattr(os, "geteuid", lambda: 1001)
    assert commands.find("sacct") == str(program)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(commands.Failed, match="sacct is not in its usual folders"):
        commands.find("sacct")
    assert commands.find("sacct", tmp_path) == str(program)


def test_names_that_are_no_nodes(site):
    script = site.folder / "scontrol"
    for output in ("n1\\n../n2\\n", "n1\\n.n2\\n", ""):
        leave(site.spool, entry(nodes="n[1-2]"))
        script.write_text(f"#!/bin/sh\nprintf '{output}'\n")
        assert (
            site.once().stderr
            == 'hybridmem-collect: scontrol does not turn "n[1-2]" into names of nodes; it is tried again\n'
        )
        assert site.left()
