# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem report --view: what jobs left unused, the energy that they took, and what they wrote."""

from makerecords import GIB, record, write
from viewing import memory, report_view, rows_by, view_json

ALONE = {"shared": False}
SHARED = {"shared": True}


def test_waste_needs_the_capacity_of_the_fast_tier(tmp_path):
    write(tmp_path, record(1, **ALONE, memory=memory((9 * GIB, 6 * GIB), (4 * GIB, 3 * GIB), 10 * GIB)))
    write(tmp_path, record(2, **ALONE))
    found = view_json(tmp_path, "waste")
    [row] = found["rows"]
    assert (row["unused_share"], row["unused_share_missing"]) == (0.4, 1)
    assert (row["unused_byte_hours"], row["slow_beside_room_byte_hours"]) == (4 * GIB, 3 * GIB)
    write(tmp_path / "old", record(2, **ALONE))
    [row] = view_json(tmp_path / "old", "waste")["rows"]
    assert row["unused_byte_hours"] is None and row["unused_share"] is None
    text = report_view(tmp_path / "old", "waste").stdout
    assert "UNUSED" not in text and "left out, as no record has it: unused share, unused, slow beside room" in text


def test_waste_is_no_more_than_a_node_has(tmp_path):
    """64 jobs shared a node. What one of them left unused, others used. So nothing counts as unused for jobs that
    shared their node, or may have."""
    held = memory((GIB // 8, GIB // 8), (GIB, GIB), 16 * GIB)
    write(tmp_path, *(record(job, **SHARED, memory=held) for job in range(1, 65)))
    write(tmp_path, record(65, user="bob", shared=None, memory=held))
    found = view_json(tmp_path, "waste")
    assert found["total"]["records"] == 65 and found["total"]["shared_records"] == 64
    for row in (*found["rows"], found["total"]):
        assert row["unused_byte_hours"] is row["slow_beside_room_byte_hours"] is row["unused_share"] is None
    write(tmp_path, record(66, user="bob", **ALONE, memory=held), record(67, user="carol", **ALONE, memory=held))
    found = view_json(tmp_path, "waste")
    rows = {
        row["user"]: (row["alone_records"], row["shared_records"], row["unused_byte_hours"]) for row in found["rows"]
    }
    left = 16 * GIB - GIB // 8
    assert rows == {"alice": (0, 64, None), "bob": (1, 0, left), "carol": (1, 0, left)}
    assert list(rows)[-1] == "alice", "rows are ordered by what is known"
    total = found["total"]
    assert (total["unused_byte_hours"], total["unused_byte_hours_missing"]) == (2 * left, 65)
    text = report_view(tmp_path, "waste").stdout
    assert "(ALONE: the number of their records)" in text
    assert "not measured in 65 of 67 records: unused share, unused" in text


def test_what_tells_that_a_job_was_alone(tmp_path):
    tiers = [{"name": "dram", "read_bytes": None, "write_bytes": 0}]
    parts = [
        ({"energy": {"memory_j": 0, "node": {}}}, (1, 0)),
        ({"energy": {"platform_j": 2.5}}, (1, 0)),
        ({"traffic": {"tiers": tiers, "node": {"seconds": 5}}, "energy": {"package_j": -1}}, (1, 0)),
        ({"traffic": {"tiers": [], "node": {"tiers": tiers}}}, (0, 1)),
        ({"energy": {"package_j": "x", "node": {"seconds": 5}}}, (0, 1)),
        ({"energy": {"node": None}, "traffic": {"tiers": [{"name": "dram"}], "node": None}}, (0, 0)),
        (
            {"energy": {"estimate": {"tiers": [{"static_j": 5}]}, "mean_w": 3}, "traffic": {"job": {"total_bytes": 5}}},
            (0, 0),
        ),
        ({"energy": 7, "traffic": None}, (0, 0)),
        ({"energy": {"memory_j": 0, "node": {}}, "shared": True}, (0, 1)),
        ({"energy": {"node": {"seconds": 5}}, "shared": False}, (1, 0)),
    ]
    for number, (changes, _) in enumerate(parts):
        write(tmp_path, record(number + 1, user=f"user{number}", **{"shared": None, **changes}))
    found = {row["user"]: (row["alone_records"], row["shared_records"]) for row in view_json(tmp_path, "waste")["rows"]}
    assert found == {f"user{number}": expected for number, (_, expected) in enumerate(parts)}


def test_a_mean_above_the_capacity_wastes_nothing(tmp_path):
    write(tmp_path, record(1, **ALONE, memory=memory((9 * GIB, 6 * GIB), (GIB, GIB), 5 * GIB)))
    assert view_json(tmp_path, "waste")["rows"][0]["unused_byte_hours"] == 0


def test_energy_is_summed_over_the_records_that_have_it(tmp_path):
    measured = {"package_j": 360000, "memory_j": None, "node": {"seconds": 1800}, "source": "powercap"}
    others = [{**measured, "node": node} for node in (None, {"seconds": None}, {"seconds": 0}, 7)]
    write(tmp_path, *(record(job, energy=energy) for job, energy in enumerate((measured, *others), 1)), record(6))
    write(tmp_path, record(7, energy={**measured, "node": {"seconds": 600.0}}, elapsed_s=None))
    found = view_json(tmp_path, "energy")
    [row] = found["rows"]
    assert (row["user"], row["account"]) == ("alice", "physics")
    assert (row["package_j"], row["package_j_missing"]) == (6 * 360000, 1)
    assert (row["memory_j"], row["memory_j_missing"]) == (None, 7)
    assert (row["package_w"], row["package_w_missing"]) == (300, 5), "watts are over the counted time, not the jobs'"
    text = report_view(tmp_path, "energy").stdout
    assert (
        "2.2 MJ" in text
        and "300.0 W" in text
        and "left out, as no record has it: memory energy, peak, of traffic, estimated static, estimated dynamic"
        in text
    )
    assert "not measured in 1 of 7 records: node-hours, package energy\n" in text


def test_mean_and_peak_are_of_the_same_domains(tmp_path):
    """Packages and memory, as in the record; packages alone if it has no energy of memory."""
    measured = {"package_j": 900, "memory_j": 300, "mean_w": 12, "peak_w": 20, "node": {"seconds": 100}}
    write(tmp_path, record(1, energy=measured), record(2, user="bob", energy={**measured, "memory_j": None}))
    rows = rows_by(view_json(tmp_path, "energy"), "user")
    assert [(rows[user,]["mean_w"], rows[user,]["package_w"]) for user in ("alice", "bob")] == [(12, 9), (9, 9)]
    lines = report_view(tmp_path, "energy").stdout.splitlines()
    assert " MEAN    PEAK" in lines[0] and "PACKAGE MEAN" not in lines[0]
    assert "  12.0 W  20.0 W" in lines[1]


def test_estimates_are_columns_of_their_own(tmp_path):
    """A sum is of the records that have its estimate for all tiers. What was measured is the same without estimates."""
    measured = {"package_j": 900, "memory_j": 100, "mean_w": 10.5, "peak_w": 410.5, "source": "powercap"}

    def modelled(*tiers):
        found = [{"name": "dram", "static_j": static, "dynamic_j": dynamic} for static, dynamic in tiers]
        return {**measured, "estimate": {"tiers": found, "source": "model"}}

    energies = [modelled((1000, 0.25), (500, 0.5)), modelled((2000, None), (0, 1)), modelled(), measured]
    write(tmp_path / "new", *(record(job, energy=energy) for job, energy in enumerate(energies)))
    write(tmp_path / "old", *(record(job, energy=measured) for job in range(4)))
    [new], [old] = (view_json(tmp_path / name, "energy")["rows"] for name in ("new", "old"))
    assert (new.pop("estimated_static_j"), new.pop("estimated_static_j_missing")) == (3500, 2)
    assert (new.pop("estimated_dynamic_j"), new.pop("estimated_dynamic_j_missing")) == (0.75, 3)
    assert (old.pop("estimated_static_j"), old.pop("estimated_dynamic_j")) == (None, None)
    assert new == {key: old[key] for key in new}
    text = report_view(tmp_path / "new", "energy").stdout
    assert "ESTIMATED STATIC  ESTIMATED DYNAMIC" in text and "3.5 kJ" in text
    assert "\nno estimate in 2 of 4 records: static\nno estimate in 3 of 4 records: dynamic\n" in text
    assert "not measured" not in text.replace("not measured in 4 of 4 records: mean\n", "")


def test_what_a_gigabyte_took(tmp_path):
    """The figure is of jobs that have both energy and the traffic of all tiers. Energy of other jobs does not count."""
    whole = {"package_j": 900, "memory_j": 100, "peak_w": 410.5, "source": "powercap"}

    def moved(slow_written):
        parts = (("dram", 3 * 10**9, 10**9), ("pmem", 10**9, slow_written))
        return {"tiers": [{"name": name, "read_bytes": read, "write_bytes": written} for name, read, written in parts]}

    jobs = [record(1, energy=whole, traffic=moved(0)), record(2, energy={**whole, "memory_j": None}, traffic=moved(0))]
    jobs += [record(3, energy=whole, traffic=moved(None)), record(4, energy=whole), record(5, traffic=moved(0))]
    write(tmp_path, *jobs)
    [row] = view_json(tmp_path, "energy")["rows"]
    assert (row["joules_per_gb"], row["joules_per_gb_missing"]) == (190, 3)
    assert (row["peak_w"], row["peak_w_missing"]) == (410.5, 1)
    assert "190.0 J/GB" in report_view(tmp_path, "energy").stdout


def test_writes_and_the_life_they_cost(tmp_path):
    tiers = [
        {"name": name, "read_bytes": n * GIB, "write_bytes": 2 * n * GIB} for name, n in (("dram", 9), ("pmem", 2))
    ]
    write(tmp_path, record(1, traffic={"tiers": tiers, "source": "perf"}), record(2))
    [row] = view_json(tmp_path, "writes")["rows"]
    assert (row["slow_write_bytes"], row["slow_write_bytes_missing"]) == (4 * GIB, 1)
    assert (row["slow_read_bytes"], row["life_share"], row["life_share_missing"]) == (2 * GIB, None, 2)
    assert "LIFE" not in report_view(tmp_path, "writes").stdout
    [row] = view_json(tmp_path, "writes", "--endurance", "4T")["rows"]
    assert (row["life_share"], row["life_share_missing"]) == (0.0009765625, 1)
    assert "0.0977 %" in report_view(tmp_path, "writes", "--endurance", "4T").stdout


def test_traffic_of_one_tier_is_not_taken_for_the_other(tmp_path):
    only = [{"name": "dram", "read_bytes": GIB, "write_bytes": GIB}]
    write(tmp_path, record(1, traffic={"tiers": only, "source": "perf"}))
    assert view_json(tmp_path, "writes")["rows"][0]["slow_write_bytes"] is None
