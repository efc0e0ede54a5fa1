# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem export prometheus: the figures, their format (by promtool), and a file that can be read at any
time."""

import json
import re
import resource
import socket
import subprocess
import sys
import threading
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from installed import DATA, PREFIX, helper
from makerecords import GIB, NO_MIGRATION, record, tier, write

PROJECT = Path(__file__).resolve().parents[2]
DASHBOARD = json.loads((PROJECT / "site-docs" / "grafana-dashboard.json").read_text())
SINCE = ("--since", "2025-01-01")
SAMPLE = re.compile(r'([a-z_]+)\{((?:[a-z]+="(?:[^"\\\n]|\\[\\"n])*",?)*)\} (\S+)')


def export(folder, *words, node="n1", **options):
    return helper("hybridmem-export", "prometheus", "--records", folder, "--node", node, *words, **options)


def promtool(*words, text=None):
    setup = subprocess.run(
        [PROJECT / "tests" / "setup", "--print-promtool"], capture_output=True, text=True, check=True
    )
    done = subprocess.run(
        [setup.stdout.strip(), *words], input=text, capture_output=True, text=True, check=False, encoding="utf-8"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def samples(text):
    """{(name, label values without the node's): figure}. Every line must be a comment or a sample."""
    found = {}
    for line in text.splitlines():
        if line.startswith("# "):
            continue
        name, labels, figure = SAMPLE.fullmatch(line).groups()
        pairs = re.findall(r'([a-z]+)="((?:[^"\\]|\\.)*)"', labels)
        assert pairs[0][0] == "node"
        key = (name.removeprefix("hybridmem_"), *(value for _, value in pairs[1:]))
        assert key not in found, f"{key} twice"
        found[key] = float(figure)
    return found


def exported(folder, *words, **options):
    text = export(folder, *SINCE, *words, **options).stdout
    assert promtool("check", "metrics", text=text) == ""
    return samples(text)


def measured(job_id, **changes):
    """A record that also has figures of energy, traffic and migration, but not what was written to pmem."""
    return record(
        job_id,
        energy={"package_j": 100.5, "memory_j": 20.25, "source": "powercap"},
        traffic={
            "tiers": [
                {"name": "dram", "read_bytes": 5 * GIB, "write_bytes": GIB},
                {"name": "pmem", "read_bytes": 1 << 63, "write_bytes": None},
            ],
            "job": {"total_bytes": 7 * GIB, "local_bytes": 4 * GIB, "source": "resctrl"},
            "source": "perf",
        },
        migration={
            **NO_MIGRATION,
            "promoted_bytes": 3 * GIB,
            "demoted_bytes": 2 * GIB,
            "cpu_s": 1.5,
            "kernel_cpu_s": 9.75,
        },
        **changes,
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], "prometheus is missing. Try 'hybridmem export --help'."),
        (["graphite"], '"graphite" is no system to export to: use prometheus'),
        (["prometheus", "--output", "/tmp/metrics"], '"/tmp/metrics" does not end in .prom'),
        (["prometheus", "--output", "/tmp/.prom"], '"/tmp/.prom" does not end in .prom'),
        (["prometheus", "--node", "../n1"], '"../n1" is no name of a node'),
        (["prometheus", "--node", ""], '"" is no name of a node'),
        (["prometheus", "--since", "yesterday"], '"yesterday" is not a date'),
        (["prometheus", "extra"], "unexpected word 'extra'"),
    ],
)
def test_wrong_arguments_are_named(words, expected):
    said = helper("hybridmem-export", *words, status=2).stderr
    assert said.startswith("hybridmem export: ") and said.count("\n") == 1 and expected in said


def test_errors_are_one_line(tmp_path):
    folder = tmp_path / "records"
    write(folder, record(1))
    assert "would begin in the future: 2999-01-01" in export(folder, "--since", "2999-01-01", status=1).stderr
    done = export(folder, "--output", tmp_path / "none" / "a.prom", status=1)
    assert done.stderr == f"hybridmem export: cannot write in {tmp_path}/none: No such file or directory\n"
    (tmp_path / "folder.prom").mkdir()
    done = export(folder, "--output", tmp_path / "folder.prom", status=1)
    assert done.stderr == f"hybridmem export: cannot write {tmp_path}/folder.prom: Is a directory\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.prom", "records"]


def test_a_record_from_a_clock_that_was_ahead_is_left_out(tmp_path):
    """A day ahead is still taken, as collect does. Else such a record would stay in each window."""
    now = datetime.now(timezone.utc)
    soon, late = ((now + timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ") for hours in (23, 25))
    write(tmp_path, record(1, end=soon), record(2, end=late), record(3, end="2099-01-01T00:00:00Z"))
    done = export(tmp_path, "--since", "24h")
    named = rf"{tmp_path}/{late[:10]}/n1.jsonl:[12], {tmp_path}/2099-01-01/n1.jsonl:1"
    why = "that ended more than a day from now: set the clock of its node"
    assert re.fullmatch(rf"hybridmem export: left out: 2 records \({named}\) {why}\n", done.stderr)
    end = datetime.fromisoformat(soon.replace("Z", "+00:00")).timestamp()
    found = samples(done.stdout)
    assert found["last_job_end_timestamp_seconds",] == end
    assert found["window_left_out_lines", "ahead_of_clock"] == 2


def test_the_figures_are_those_of_the_records(tmp_path):
    write(
        tmp_path,
        measured(1),
        measured(1, restart_count=1, exit_code=137, elapsed_s=1200.5),
        record(2, mode="fast", warnings=["a", "b"], memory={"tiers": [tier("dram", [0], 5 * GIB, 4 * GIB)]}),
        record(3, request=None, plan=None, memory=None, exit_code=None, elapsed_s=None, start=None),
        record(4, node="n2"),
        record(5, end="2024-12-31T23:59:59.999Z"),
    )
    found = exported(tmp_path)
    length = found.pop(("window_seconds",))
    assert abs(length - (datetime.now(timezone.utc) - datetime(2025, 1, 1, tzinfo=timezone.utc)).total_seconds()) < 600
    left_out = {key[1]: found.pop(key) for key in list(found) if key[0] == "window_left_out_lines"}
    causes = ("torn", "foreign", "unknown_schema", "too_long", "unreadable_file", "duplicate", "ahead_of_clock")
    assert set(left_out) == set(causes)
    assert not any(left_out.values())
    assert found == {
        ("window_jobs", "spill"): 2,
        ("window_jobs", "fast"): 1,
        ("window_jobs", "none"): 1,
        ("window_failed_jobs", "spill"): 1,
        ("window_failed_jobs", "fast"): 0,
        ("window_job_seconds", "spill"): 4800.5,
        ("window_job_seconds", "fast"): 3600,
        ("window_warnings", "spill"): 0,
        ("window_warnings", "fast"): 2,
        ("window_warnings", "none"): 0,
        ("window_tier_peak_bytes", "dram"): 5 * GIB,
        ("window_tier_peak_bytes", "pmem"): GIB,
        ("window_tier_mean_bytes", "dram"): pytest.approx((4800.5 * 2 + 3600 * 4) * GIB / 8400.5, rel=1e-14),
        ("window_tier_mean_bytes", "pmem"): GIB / 2,
        ("window_traffic_bytes", "dram", "read"): 10 * GIB,
        ("window_traffic_bytes", "dram", "write"): 2 * GIB,
        ("window_traffic_bytes", "pmem", "read"): 1 << 64,
        ("window_own_traffic_bytes",): 14 * GIB,
        ("window_own_local_traffic_bytes",): 8 * GIB,
        ("window_energy_joules", "package"): 201,
        ("window_energy_joules", "memory"): 40.5,
        ("window_migrated_bytes", "promoted"): 6 * GIB,
        ("window_migrated_bytes", "demoted"): 4 * GIB,
        ("window_migrator_cpu_seconds", "migrator"): 3,
        ("window_migrator_cpu_seconds", "kernel"): 19.5,
        ("window_unmeasured_jobs", "memory"): 1,
        ("window_unmeasured_jobs", "energy"): 2,
        ("window_unmeasured_jobs", "traffic"): 2,
        ("last_job_end_timestamp_seconds",): datetime(2025, 3, 1, 11, tzinfo=timezone.utc).timestamp(),
    }


def test_what_cannot_have_been_measured_is_not_added(tmp_path):
    """As in the report, negative figures, such as a time after the clock was set back, do not reduce sums, and more
    memory than any node has is no peak."""
    negative = {"peak_bytes": -1, "tiers": [tier("dram", [0], -5, -5)]}
    write(tmp_path, measured(1), measured(3, elapsed_s=-600, memory=negative))
    wrong = measured(2, memory={"tiers": [tier("dram", [0], 1 << 60, 1 << 60)]})
    for part in (wrong["energy"], wrong["migration"], *wrong["traffic"]["tiers"], wrong["traffic"]["job"]):
        part.update((key, -7) for key, figure in part.items() if isinstance(figure, (int, float)))
    write(tmp_path / "both", measured(1), wrong)
    one, both = exported(tmp_path), exported(tmp_path / "both")
    assert one["window_job_seconds", "spill"] == 3600
    assert (one["window_tier_peak_bytes", "dram"], one["window_tier_mean_bytes", "dram"]) == (3 * GIB, 2 * GIB)
    assert one["window_unmeasured_jobs", "memory"] == both["window_unmeasured_jobs", "memory"] == 1
    for key in [key for key in both if key[0].split("_")[1] in ("energy", "traffic", "own", "migrated", "migrator")]:
        assert both[key] == one[key] / 2, key
    assert both["window_energy_joules", "package"] == 100.5 and both["window_tier_peak_bytes", "dram"] == 3 * GIB


def test_what_the_kernel_did_for_migrators_is_not_always_known(tmp_path):
    made = measured(1)
    made["migration"]["kernel_cpu_s"] = None
    write(tmp_path, made)
    found = exported(tmp_path)
    assert {key[1] for key in found if key[0] == "window_migrator_cpu_seconds"} == {"migrator"}


def test_sums_have_no_rounding_errors(tmp_path):
    """In floating point, 0.1 three times is 0.30000000000000004."""
    write(tmp_path, *(record(job, elapsed_s=0.1) for job in (1, 2, 3)))
    assert re.search(r"^hybridmem_window_job_seconds{.*} 0\.3$", export(tmp_path, *SINCE).stdout, re.MULTILINE)


def test_the_window_and_the_node_by_default(tmp_path):
    node, now = socket.gethostname().split(".")[0], datetime.now(timezone.utc)
    for job, age in ((1, 1), (2, 23), (3, 25), (4, -1)):
        end = (now - timedelta(hours=age)).strftime("%Y-%m-%dT%H:%M:%SZ")
        write(tmp_path, record(job, node=node, end=end))
    text = helper("hybridmem-export", "prometheus", "--records", tmp_path).stdout
    found = samples(text)
    assert found["window_seconds",] == 86400 and found["window_jobs", "spill"] == 3
    assert f'hybridmem_window_jobs{{node="{node}",mode="spill"}} 3\n' in text


def test_a_node_without_records_has_no_figures(tmp_path):
    """An unknown node is reported; a node without jobs in the window is not."""
    empty = {"window_seconds", "window_left_out_lines"}
    write(tmp_path, record(1))
    for node, said in (
        ("n1", ""),
        ("n7", f"hybridmem export: no record of node n7 in {tmp_path}: no job ended there "),
    ):
        done = export(tmp_path, node=node)
        assert done.stderr.startswith(said) and done.stderr.count("\n") == bool(said)
        assert {key[0] for key in samples(done.stdout)} == empty


def test_a_folder_that_was_named_must_be_there(tmp_path):
    """The folder that hybridmem.conf names is made with the first record, so a timer on a new node must not fail."""
    done = export(tmp_path / "none", status=1)
    assert (done.stdout, done.stderr) == ("", f"hybridmem export: there is no folder {tmp_path}/none\n")
    config = tmp_path / "config"
    config.write_text(f"#!/bin/sh\necho 'record_dir = \"{tmp_path}/none\"'\n")
    config.chmod(0o755)
    code = f"import sys; sys.path.insert(0, {str(DATA / 'python')!r}); from hybridmem import export, program\n"
    code += f"sys.exit(program.run('hybridmem export', export.main, {str(config)!r}))"
    words = [sys.executable, "-c", code, "prometheus", "--node", "n1"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stderr.startswith(f"hybridmem export: there is no folder {tmp_path}/none: no job was recorded yet")
    assert {key[0] for key in samples(done.stdout)} == {"window_seconds", "window_left_out_lines"}


def test_lines_that_are_no_records_are_counted(tmp_path):
    write(tmp_path, record(1), record(1), record(2, node="n2"))
    day = tmp_path / "2025-03-01"
    with (day / "n1.jsonl").open("a") as stream:
        stream.write(f'{(day / "n2.jsonl").read_text()}torn\n{{"schema": 9}}\n7\n{"x" * (2 << 20)}\n')
    (day / "n2.jsonl").unlink()
    (day / "n2.jsonl").mkdir()
    found = exported(tmp_path)
    assert found["window_jobs", "spill"] == 1
    counts = {"torn": 1, "foreign": 2, "unknown_schema": 1, "too_long": 1, "unreadable_file": 0}
    counts |= {"duplicate": 1, "ahead_of_clock": 0}
    assert {key[1]: value for key, value in found.items() if key[0] == "window_left_out_lines"} == counts
    assert exported(tmp_path, node="n2")["window_left_out_lines", "unreadable_file"] == 1


def test_labels_are_escaped_and_bounded(tmp_path):
    hostile = 'a"b\\c\nd{}=,é\ud800'
    write(tmp_path, record(1, mode='x"\n', memory={"tiers": [tier(hostile, [0], GIB, GIB)]}))
    text = export(tmp_path, *SINCE, encoding="utf-8").stdout
    assert promtool("check", "metrics", text=text) == ""
    assert 'tier="a\\"b\\\\c\\nd{}=,é?"} 1073741824\n' in text
    assert samples(text)["window_jobs", "other"] == 1
    for job in range(2, 40):
        tiers = [tier(f"t{job}", [0], job, 1), {"name": 7, "peak_bytes": GIB}]
        write(tmp_path, record(job, memory={"tiers": tiers}, energy=[], traffic={"tiers": [7]}, migration="x"))
    found = exported(tmp_path)
    names = {key[1] for key in found if key[0] == "window_tier_peak_bytes"}
    assert len(names) == 17 and {"?", "other"} < names
    assert found["window_tier_peak_bytes", "other"] == 39


def test_the_file_is_whole_at_any_time(tmp_path):
    """A reader only finds complete files while the file is written twenty times."""
    write(tmp_path, record(1))
    target, done, torn = tmp_path / "hybridmem.prom", threading.Event(), []
    export(tmp_path, *SINCE, "--output", target)
    size = len(target.read_bytes())

    def read():
        while not done.is_set():
            made = target.read_bytes()
            if len(made) != size or not made.endswith(b'cause="ahead_of_clock"} 0\n'):
                torn.append(made)

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(20):
        export(tmp_path, *SINCE, "--output", target)
    done.set()
    reader.join()
    assert torn == []
    assert target.stat().st_mode & 0o777 == 0o644, "node_exporter is another user"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2025-03-01", "by-user", "hybridmem.prom"]


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    write(tmp_path, record(1))
    target = tmp_path / "hybridmem.prom"
    target.write_text("old\n")

    def no_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    done = export(tmp_path, *SINCE, "--output", target, status=1, preexec_fn=no_room)
    assert done.stderr == f"hybridmem export: cannot write {target}: File too large\n"
    assert target.read_text() == "old\n" and len(list(tmp_path.iterdir())) == 3


def panels():
    for panel in DASHBOARD["panels"]:
        yield from panel.get("panels", [panel])


def expressions():
    return [target["expr"] for panel in panels() for target in panel["targets"]]


def test_the_dashboard_has_metrics_that_exist_and_all_of_them(tmp_path):
    write(tmp_path, measured(1))
    known = set(re.findall(r"^# TYPE (\S+) gauge$", export(tmp_path, *SINCE).stdout, re.MULTILINE))
    variables = [v["definition"] for v in DASHBOARD["templating"]["list"] if v["type"] == "query"]
    shown = set(re.findall(r"\bhybridmem_\w+", "\n".join([*expressions(), *variables])))
    assert shown == known and len(known) == 16


def test_the_dashboards_expressions_are_right(tmp_path):
    """promtool checks the expressions as recording rules. Each panel has its unit and a description."""
    rules = "groups:\n- name: dashboard\n  rules:\n"
    for i, expression in enumerate(expressions()):
        filled = expression.replace("$node", "n1")
        assert "$" not in filled, filled
        rules += f"  - record: panel:{i}\n    expr: {json.dumps(filled)}\n"
    (tmp_path / "rules.yml").write_text(rules)
    assert f"{len(expressions())} rules found" in promtool("check", "rules", tmp_path / "rules.yml")
    assert len({panel["id"] for panel in panels()}) == len(list(panels()))
    for panel in panels():
        assert panel["title"] and panel["description"] and panel["fieldConfig"]["defaults"]["unit"]
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}


def test_the_timer_and_its_service_are_right(tmp_path):
    units = PREFIX / "lib" / "systemd" / "system"
    service = (units / "hybridmem-export.service").read_text()
    start = re.search(r"^ExecStart=(.*)$", service, re.MULTILINE)[1].split()
    folder = Path(start[-1]).parent
    assert f"ReadWritePaths=-{folder}\n" in service and f"ConditionPathIsDirectory={folder}\n" in service
    words = [str(tmp_path / "a.prom") if word == start[-1] else word for word in start]
    subprocess.run([*words, "--records", tmp_path], check=True, env={"LC_ALL": "C.UTF-8"})
    assert samples((tmp_path / "a.prom").read_text())
    assert re.search(r"^OnUnitActiveSec=", (units / "hybridmem-export.timer").read_text(), re.MULTILINE)
