# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem show without access to the records: it shows what Slurm's database has, if Slurm allows it."""

import base64
import gzip
import json
import os
import sys

import pytest
from collecting import entry
from hybridmem import commands, merge, records, summaries, summary
from makerecords import GIB, record, write
from showing import no_record

NO_RECORD = no_record(7)


def text_of(job_id=7, nodes=("n1",), found=None, **changes):
    return summaries.encode(
        merge.summary(entry(job_id, **changes), nodes, [record(job_id)] if found is None else found)
    )


def plain_of(text):
    """The object that a summary's text contains."""
    return json.loads(gzip.decompress(base64.b64decode(text[4:])))


class Login:
    """A host without records. sacct prints `rows`, and notes its arguments."""

    def __init__(self, folder, monkeypatch, capsys):
        self.folder, self.monkeypatch, self.capsys = folder, monkeypatch, capsys
        self.rows, self.status, self.field = [], 0, "AdminComment"
        self.records = folder / "none"
        monkeypatch.setattr(commands, "FOLDERS", [str(folder)])

    def show(self, *words):
        sacct, config = self.folder / "sacct", self.folder / "config"
        (self.folder / "rows").write_text("".join(f"{row}\n" for row in self.rows))
        sacct.write_text(
            f'#!/bin/sh\necho "$*" >>{self.folder}/words\ncat {self.folder}/rows\n'
            f"[ {self.status} = 0 ] || echo no slurmdbd >&2\nexit {self.status}\n"
        )
        config.write_text(f"#!/bin/sh\necho 'record_dir = \"{self.records}\"'\necho 'summary_field = {self.field}'\n")
        for path in (sacct, config):
            path.chmod(0o755)
        self.monkeypatch.setattr(sys, "argv", ["show", *words])
        assert summary.main(str(config), "") == 0
        return self.capsys.readouterr().out

    def asked(self):
        path = self.folder / "words"
        return path.read_text().splitlines() if path.exists() else []

    def queue(self, text, status=0):
        """Sets what squeue prints."""
        squeue = self.folder / "squeue"
        squeue.write_text(f"#!/bin/sh\necho \"$*\" >>{self.folder}/queue\nprintf '{text}'\nexit {status}\n")
        squeue.chmod(0o755)


@pytest.fixture
def login(tmp_path, monkeypatch, capsys):
    return Login(tmp_path, monkeypatch, capsys)


def refused(login, *words):
    with pytest.raises(records.Failure) as failure:
        login.show(*words)
    return str(failure.value)


def test_a_summary(login):
    found = [
        record(7, node="n1", warnings=["late"], energy={"package_j": 5000.2, "memory_j": None, "source": "x"}),
        record(
            7,
            node="n2",
            warnings=["late"],
            memory=None,
            traffic={"tiers": [], "job": {"total_bytes": 3 * GIB, "local_bytes": GIB, "source": "resctrl"}},
        ),
    ]
    login.rows = [f"7|7|alice|physics|main|test|{text_of(nodes=('n1', 'n2', 'n3', 'n4'), found=found)}"]
    assert login.show("7") == (
        "Job 7, user alice, account physics, partition main, cluster test\n"
        "  summary      of AdminComment in Slurm's database: no records are in reach here\n"
        "  asked for    spill\n"
        "  plan         spill, policy interleave\n"
        "  nodes        4, of which 2 reported\n"
        "  missing      n[3-4]\n"
        "  time         2025-03-01 10:00:00 to 2025-03-01 11:00:00 UTC\n"
        "  memory       peak: largest 4.0 GiB on n1; measured on 1 of 4 nodes (memory.peak of the job's cgroup)\n"
        "               dram peak: largest 3.0 GiB on n1\n"
        "               dram mean: largest 2.0 GiB on n1\n"
        "               pmem peak: largest 1.0 GiB on n1\n"
        "               pmem mean: largest 512.0 MiB on n1\n"
        "    NODE  DRAM PEAK  PMEM PEAK  DRAM MEAN  PMEM MEAN\n"
        "    n1      3.0 GiB    1.0 GiB    2.0 GiB  512.0 MiB\n"
        "    n2            -          -          -          -\n"
        "  energy       package: largest 5.0 kJ on n1; measured on 1 of 4 nodes (x)\n"
        "  traffic      not measured on any node\n"
        "  own traffic  all tiers: largest 3.0 GiB on n2; measured on 1 of 4 nodes\n"
        "  own traffic  to memory of the same socket: largest 1.0 GiB on n2; measured on 1 of 4 nodes\n"
        "  warnings     2; nodes that have any: 2\n"
        "  warning      late (2 times)\n"
    )
    assert login.asked() == [
        "--allocations --noheader --parsable2 --jobs=7 "
        "--format=JobID,JobIDRaw,User,Account,Partition,Cluster,AdminComment"
    ]


def test_a_large_job(login):
    nodes = [f"n{i}" for i in range(2000)]
    found = [
        record(
            7,
            node=node,
            memory={"peak_bytes": GIB + i, "tiers": []},
            traffic={"tiers": [{"name": "dram", "read_bytes": GIB, "write_bytes": None}], "source": "x"},
        )
        for i, node in enumerate(nodes)
    ]
    login.rows = [f"7|7|alice|physics|main|test|{text_of(nodes=nodes, found=found)}"]
    said = login.show("7").splitlines()
    assert "  nodes        2000" in said
    assert "  memory       peak: largest 1.0 GiB on n1999, least 1.0 GiB on n0, sum of 2000 nodes 2.0 TiB" in said
    assert "  traffic      dram read: largest 1.0 GiB on n0, least 1.0 GiB on n0, sum of 2000 nodes 2.0 TiB (x)" in said
    assert "  energy       not measured on any node: no meter on this node" in said


def lines_of(text):
    return [line.strip() for line in text.splitlines() if line.startswith(("  energy", "  traffic", "  memory"))]


def test_what_was_measured_on_some_nodes_only(login):
    energy = {"package_j": 5000.0, "memory_j": 1000, "platform_j": 9000, "mean_w": 50, "peak_w": 90.5, "source": "rapl"}
    tiers = [{"name": "dram", "read_bytes": GIB, "write_bytes": None}]
    found = [
        record(7, node="n1", energy=energy, traffic={"tiers": tiers, "source": "perf"}),
        record(7, node="n2", energy={**energy, "memory_j": None, "peak_w": 80, "mean_w": -1}),
    ]
    login.rows = [f"7|7|alice|physics|main|test|{text_of(nodes=('n1', 'n2'), found=found)}"]
    both = "largest 5.0 kJ on n1, least 5.0 kJ on n1, sum of 2 nodes 10.0 kJ"
    assert lines_of(login.show("7"))[1:] == [
        f"energy       package: {both}",
        "energy       memory: largest 1.0 kJ on n1; measured on 1 of 2 nodes",
        "energy       node: largest 9.0 kJ on n1, least 9.0 kJ on n1, sum of 2 nodes 18.0 kJ",
        "energy       mean: largest 50.0 W on n1; measured on 1 of 2 nodes",
        "energy       peak: largest 90.5 W on n1, least 80.0 W on n2 (rapl)",
        "traffic      dram read: largest 1.0 GiB on n1; measured on 1 of 2 nodes (perf)",
    ]


def test_what_was_not_measured_and_why(login):
    """A reason is shown if all nodes agree on it and if the summary has it."""
    shared = {"package_j": None, "node": {"package_j": 5}, "source": "powercap; for the node only"}
    none = {"memory": {"peak_bytes": None, "tiers": [], "source": "no cgroup"}, "energy": shared}
    found = [record(7, node=f"n{i}", **none, traffic={"tiers": [], "source": f"reason {i}"}) for i in range(2)]
    text = text_of(nodes=("n0", "n1"), found=found)
    login.rows = [f"7|7|alice|physics|main|test|{text}"]
    assert lines_of(login.show("7")) == [
        "memory       not measured on any node: no cgroup",
        "energy       not measured on any node: powercap; for the node only",
        "traffic      not measured on any node",
    ]
    many = [record(7, energy={"source": "powercap: no zone; perf: no PMU"})]
    login.rows = [f"7|7|alice|physics|main|test|{text_of(nodes=('n1',), found=many)}"]
    assert "energy       not measured on any node: no counters here; hybridmem" in login.show("7")
    assert "not measured on any node: powercap: no zone; perf: no PMU\n" in login.show("--verbose", "7")
    plain = plain_of(text)
    for left_out, said in ((["by_node"], True), (["tiers"], False)):
        packed = summaries.pack({**plain, "left_out": left_out})
        login.rows = [f"7|7|alice|physics|main|test|{packed}"]
        assert ("traffic      not measured on any node" in lines_of(login.show("7"))) == said, (
            "what was cut is not known"
        )
    del plain["sources"]  # as in an earlier version
    packed = summaries.pack(plain)
    login.rows = [f"7|7|alice|physics|main|test|{packed}"]
    assert lines_of(login.show("7")) == [
        f"{group:<12} not measured on any node" for group in ("memory", "energy", "traffic")
    ]


@pytest.mark.parametrize(
    ("queue", "said"),
    [
        ("RUNNING|n[1-2]\\n", "job 7 is running on n[1-2], by squeue: its record is written at the end of its epilog"),
        ("PENDING|\\nRUNNING|n1\\n", "job 7 is pending, by squeue: its record is written at the end of its epilog"),
        ("", NO_RECORD),
    ],
)
@pytest.mark.parametrize("there", [True, False], ids=["records", "no records"])
def test_a_job_that_runs_by_what_slurm_says(login, monkeypatch, queue, said, there):
    """It may run on any node. Root is told of all jobs, a user of their own ones."""
    if there:
        write(login.records, record(1))
    elif not queue:
        said = "no records here, and no summary of job 7 in Slurm's database"
    login.queue(queue)
    for uid in (0, 1001):
        monkeypatch.setattr(os, "geteuid", lambda uid=uid: uid)
        if uid == 0 or not there:
            assert refused(login, "7") == said
    asked = (login.folder / "queue").read_text().splitlines()
    assert asked[0] == "--noheader --jobs=7 --format=%T|%N" and set(asked[1:]) <= {f"{asked[0]} --user=1001"}
    login.queue("RUNNING|n1\\n", status=1)
    assert refused(login, "7") == (
        NO_RECORD if there else "no records here, and no summary of job 7 in Slurm's database"
    )


@pytest.mark.parametrize(
    ("nodes", "said"),
    [(("n1",), "nothing (no --hybrid-mem)"), (("n1", "n2"), "nothing (no --hybrid-mem), or its nodes differ")],
)
def test_one_node_does_not_differ(login, nodes, said):
    found = [record(7, node=node, request=None) for node in nodes]
    login.rows = [f"7|7|alice|physics|main|test|{text_of(nodes=nodes, found=found)}"]
    assert f"  asked for    {said}\n" in login.show("7")


def test_what_migration_cost(login):
    """The migrators' own time, and the kernel's if it was measured."""
    migration = {"promoted_bytes": GIB, "demoted_bytes": 0, "cpu_s": 0.5}
    for more, said in (({"kernel_cpu_s": None}, []), ({"kernel_cpu_s": 3.25}, ["largest 3.2 s on n1"])):
        text = text_of(found=[record(7, mode="migrate", migration={**migration, **more})])
        login.rows = [f"7|7|alice|physics|main|test|{text}"]
        lines = [line for line in login.show("7").splitlines() if "CPU time" in line]
        expected = ["  migration    CPU time: largest 0.5 s on n1; self-reported"]
        expected += [f"  migration    additional CPU time in the kernel: {words}; self-reported" for words in said]
        assert lines == expected
    assert summaries.decode(text)["migration_more"]["kernel_cpu_s"]["sum"] == 3.25


def test_all_tasks_of_an_array(login):
    login.rows = [
        f"20_3|21|alice|physics|main|test|{text_of(21)}",
        "20_4|22|alice|physics|main|test|",
        f"20_5|20|alice|physics|main|test|{text_of(20)}",
    ]
    heads = [line for line in login.show("20").splitlines() if line.startswith("Job")]
    assert heads == [
        "Job 20_3 (21), user alice, account physics, partition main, cluster test",
        "Job 20_5 (20), user alice, account physics, partition main, cluster test",
    ]
    made = json.loads(login.show("--json", "20"))
    assert [(one["job_id"], one["field"], one["nodes"]) for one in made] == [
        (21, "AdminComment", 1),
        (20, "AdminComment", 1),
    ]


def test_a_job_without_any_record(login):
    login.rows = [f"7|7|alice|physics|main|test|{text_of(nodes=('n1', 'n2'), found=[])}"]
    said = login.show("7")
    assert "nodes        2, of which 0 reported" in said and "memory       not measured on any node\n" in said
    assert "asked for    not known: no node has a record" in said


@pytest.mark.parametrize("job", ["7", "20_3", "30+1"])
def test_the_job_is_asked_for_as_it_was_named(login, job):
    assert refused(login, job) == f"no records here, and no summary of job {job} in Slurm's database"
    assert f"--jobs={job} " in login.asked()[0]


def test_a_job_without_a_summary_has_no_record(login):
    """sacct prints nothing, as for a job that does not exist or that PrivateData hides; or a row without a text; or one
    with another tool's text; or lines that are no rows."""
    login.records.mkdir()
    for rows in ([], ["7|7|alice|physics|main|test|"], ["7|7|alice|physics|main|test|JS1:x", "more"], ["HM1:x", "|"]):
        login.rows = rows
        assert refused(login, "7") == NO_RECORD


def test_a_page_wants_the_records(login):
    login.rows = [f"7|7|alice|physics|main|test|{text_of()}"]
    page = login.folder / "page.html"
    assert refused(login, "--html", str(page), "7") == "--html needs the job's records: here is only its summary"
    login.rows = []
    said = "no records here, and no summary of job 7 in Slurm's database"
    assert refused(login, "--html", str(page), "7") == said and not page.exists()


def test_records_that_are_shut(login):
    """A summary is shown, as if there were no folder of records. If there is no summary either, the message says why
    the records cannot be read."""
    login.records.mkdir()
    shut = f"cannot enter {login.records}: Permission denied"

    def refuse(folder):
        raise records.Shut(shut)

    login.monkeypatch.setattr(records, "readable_folder", refuse)
    assert refused(login, "7") == f"{shut}, and no summary of job 7 in Slurm's database"
    login.rows = [f"7|7|alice|physics|main|test|{text_of()}"]
    assert "of AdminComment in Slurm's database" in login.show("7")


def test_records_come_first(login):
    write(login.records, record(7))
    login.rows = [f"7|7|alice|physics|main|test|{text_of()}"]
    assert "summary" not in login.show("7") and login.asked() == []


def test_with_a_folder_named_no_summary_is_looked_for(login):
    login.rows = [f"7|7|alice|physics|main|test|{text_of()}"]
    write(login.records, record(8))
    assert refused(login, "--records", str(login.records), "7") == NO_RECORD
    assert login.asked() == []


def test_without_a_field_sacct_is_not_asked(login):
    login.field = "none"
    said = f"there is no folder {login.records}: no job was recorded yet, or record_dir is wrong"
    assert refused(login, "7") == said and login.asked() == []


def test_sacct_that_fails(login):
    login.status = 1
    login.records.mkdir()
    assert refused(login, "7") == (
        f"{NO_RECORD}; and its summary is not known: sacct failed with status 1: no slurmdbd"
    )
    login.monkeypatch.setattr(commands, "FOLDERS", [])
    login.monkeypatch.setenv("PATH", "")
    assert refused(login, "7").endswith("its summary is not known: sacct is not in its usual folders")


def test_texts_of_somebody_else(login):
    """Whoever may write the field can write anything."""
    plain = plain_of(text_of())
    hostile = {**plain, "request": "\x1b[2J\n  plan  root", "missing": "\x07"}
    packed = summaries.pack(hostile)
    login.rows = [f"7|7|al\x1bice|physics|main|test|{packed}"]
    said = login.show("7")
    assert "\x1b" not in said and "\\x1b[2J\\x0a  plan  root" in said and "al\\x1bice" in said and "\\x07" in said
    bomb = "HM1:" + base64.b64encode(gzip.compress(b" " * 2_900_000, 9)).decode()
    for text, why in (
        ("HM1:x", "it cannot be unpacked"),
        (bomb, "it is torn, or too large"),
        (text_of(8), "it is of another job"),
    ):
        login.rows = [f"7|7|alice|physics|main|test|{text}"]
        assert refused(login, "7").startswith(f"the summary in AdminComment of job 7 is not readable: {why}")


def test_rows_of_nodes_that_do_not_fit_their_tiers(login):
    plain = plain_of(text_of())
    wrong = {**plain, "by_node": [["n1", [1], [2, 3, 4]], ["n2", [GIB, None], [GIB, GIB]]]}
    packed = summaries.pack(wrong)
    login.rows = [f"7|7|alice|physics|main|test|{packed}"]
    (line,) = [line for line in login.show("7").splitlines() if line.startswith("    n")]
    assert line.split() == ["n2", "1.0", "GiB", "-", "1.0", "GiB", "1.0", "GiB"] and os.linesep not in line
