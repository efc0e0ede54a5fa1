# SPDX-License-Identifier: Apache-2.0
"""Tests tests/lib/promises, which compares tests/PROMISES.md with the tests, on a small project of its own."""

import subprocess
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
TOOL = PROJECT / "tests" / "lib" / "promises"
HEAD = "# Promises\n\n| promise | stage | test |\n|---|---|---|\n"
FILES = {
    "tests/cli/test_a.py": "def test_one():\n    pass\n",
    "tests/cli/test_history_a.py": "def test_one():\n    pass\n",
    "tests/system/test_b.py": "import pytest\n\n\ndef test_one():\n    pass\n\n\n"
    "@pytest.mark.kmem\ndef test_two():\n    pass\n\n\n@pytest.mark.slurm26\ndef test_three():\n    pass\n",
    "tests/system/test_fsdax_c.py": "def test_one():\n    pass\n",
    "tests/meter/test_migration.py": "def test_one():\n    pass\n",
    "tests/unit/core/test-d.c": "\nstatic void one(void **state)\n{\n",
    "tests/fuzz/fuzz-e.c": "",
    "tests/bench/fast": "",
    "tests/lint": "\ncheck 'no riddles' true\n",
    "tests/testbed/compile": "",
}
# Each kind of test: its stage, and what the logs contain if it passed (file below build/: text).
KINDS = {
    "tests/cli/test_a.py::test_one": ("cli", {"check/cli.log": "PASSED tests/cli/test_a.py::test_one[x y]\n"}),
    "tests/cli/test_history_a.py::test_one": (
        "history",
        {"check/history.log": "PASSED tests/cli/test_history_a.py::test_one\n"},
    ),
    "tests/system/test_b.py::test_one": ("system", {"check/system.log": "PASSED test_b.py::test_one\r\n"}),
    "tests/system/test_b.py::test_two": ("kmem", {"check/kmem.log": "PASSED test_b.py::test_two\n"}),
    "tests/system/test_b.py::test_three": ("slurm26", {"check/slurm26.log": "PASSED test_b.py::test_three[a]\n"}),
    "tests/system/test_fsdax_c.py::test_one": (
        "namespaces",
        {"check/namespaces.log": "PASSED test_fsdax_c.py::test_one\n"},
    ),
    "tests/meter/test_migration.py::test_one": (
        "meter",
        {"check/meter.log": "PASSED tests/meter/test_migration.py::test_one\n"},
    ),
    "tests/unit/core/test-d.c::one": (
        "unit",
        {"check/unit.log": "PASS: core/test-d\n", "native/tests/unit/core/test-d.log": "[       OK ] one\n"},
    ),
    "tests/fuzz/fuzz-e.c": ("fuzz", {"check/fuzz.log": "ok fuzz-e\n"}),
    "tests/bench/fast": ("cost", {"check/cost.log": "12.0s call tests/bench/fast\n"}),
    "tests/lint::no riddles": ("lint", {"check/lint.log": "ok   no riddles\n"}),
    "tests/lib/stages.sh::distcheck": ("dist", {"check/dist.log": "ok distcheck\n"}),
    "tests/testbed/compile::forky": ("compile", {"check/compile.log": "ok compile on forky\n"}),
}


@pytest.fixture
def project(tmp_path):
    stages = (PROJECT / "tests" / "lib" / "stages.sh").read_text()
    for name, text in {**FILES, "tests/lib/stages.sh": stages}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def promises(project, rows, *words):
    """Writes rows of (stage, test). Returns the exit status and the messages."""
    text = "".join(f"| It is so. | {stage} | `{test}` |\n" for stage, test in rows)
    (project / "tests" / "PROMISES.md").write_text(HEAD + text)
    done = subprocess.run([TOOL, *words], cwd=project, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def write_logs(project, logs):
    for name, text in logs.items():
        path = project / "build" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_the_page_on_security_names_tests_of_the_table(project):
    """The page names tests without their folders, which are in the rows of the table."""
    page = project / "site-docs" / "security.md"
    page.parent.mkdir()
    page.write_text("Held by `test_a.py::test_one` and `test_a.py::test_two`.\n")
    wrong = "site-docs/security.md: test_a.py::test_two is in no row of tests/PROMISES.md"
    assert promises(project, [("cli", "tests/cli/test_a.py::test_one")], "exist") == (1, [wrong, "2 passed, 1 failed"])


def test_tests_that_exist(project):
    rows = [(stage, test) for test, (stage, _) in KINDS.items()]
    assert promises(project, rows, "exist") == (0, [f"{len(rows)} passed, 0 failed"])


@pytest.mark.parametrize(
    ("stage", "test", "said"),
    [
        ("cli", "tests/cli/test_a.py::test_two", "tests/cli/test_a.py has no test_two"),
        ("cli", "tests/cli/test_z.py::test_one", "there is no tests/cli/test_z.py"),
        ("cli", "tests/cli/test_a.py", "tests/cli/test_a.py is no test's name"),
        ("unit", "tests/unit/core/test-d.c::two", "tests/unit/core/test-d.c has no two"),
        ("unit", "tests/unit/core/test-d.c::on", "tests/unit/core/test-d.c has no on"),
        ("dist", "tests/lib/stages.sh::check", "tests/lib/stages.sh has no check"),
        ("compile", "tests/testbed/compile::buster", "tests/testbed/compile has no buster"),
        ("lint", "tests/lint::no jokes", "tests/lint has no no jokes"),
        ("fuzz", "tests/fuzz/fuzz-z.c", "there is no tests/fuzz/fuzz-z.c"),
        ("unit", "tests/cli/test_a.py::test_one", "tests/cli/test_a.py::test_one is run by the stage cli, not unit"),
        (
            "kmem",
            "tests/system/test_b.py::test_three",
            "tests/system/test_b.py::test_three is run by the stage slurm26, not kmem",
        ),
        ("a | b", "tests/cli/test_a.py::test_one", "not of the form | promise | stage | `test` |"),
    ],
)
def test_a_row_that_names_no_test(project, stage, test, said):
    status, (line, total) = promises(project, [(stage, test)], "exist")
    assert status == 1 and total == "0 passed, 1 failed"
    assert line.startswith(f"tests/PROMISES.md:5: {said}: ") and "It is so." in line


@pytest.mark.parametrize("test", KINDS)
def test_a_test_that_has_passed_or_has_not(project, test):
    stage, logs = KINDS[test]
    ran = ("ran", "build/check", stage)
    failed = [f"tests/PROMISES.md:5: {test} has not passed in build/check/{stage}.log: It is so.", "0 passed, 1 failed"]
    assert promises(project, [(stage, test)], *ran) == (1, failed)
    write_logs(project, logs)
    assert promises(project, [(stage, test)], *ran) == (0, ["1 passed, 0 failed"])
    for name in logs:
        write_logs(project, {**logs, name: "what others have said\n"})
        assert promises(project, [(stage, test)], *ran) == (1, failed)


@pytest.mark.parametrize(
    ("test", "line"),
    [
        ("tests/cli/test_a.py::test_one", "PASSED tests/cli/test_a.py::test_one_more"),
        ("tests/cli/test_a.py::test_one", "FAILED tests/cli/test_a.py::test_one"),
        ("tests/cli/test_a.py::test_one", "PASSED tests/cli/test_aa.py::test_one"),
        ("tests/system/test_b.py::test_one", "PASSED other_test_b.py::test_one"),
        ("tests/fuzz/fuzz-e.c", "FAIL fuzz-e"),
        ("tests/fuzz/fuzz-e.c", "ok fuzz-else"),
        ("tests/lint::no riddles", "FAIL no riddles"),
        ("tests/bench/fast", "12.0s call tests/bench/faster"),
    ],
)
def test_what_is_said_of_others_does_not_count(project, test, line):
    stage = KINDS[test][0]
    write_logs(project, {f"check/{stage}.log": f"{line}\n"})
    assert promises(project, [(stage, test)], "ran", "build/check", stage)[0] == 1


def test_promises_of_stages_that_did_not_run_are_not_checked(project):
    rows = [(stage, test) for test, (stage, _) in KINDS.items()]
    write_logs(project, KINDS["tests/fuzz/fuzz-e.c"][1])
    assert promises(project, rows, "ran", "build/check", "fuzz") == (0, ["1 passed, 0 failed"])
    assert promises(project, rows, "ran", "build/check", "guest") == (0, ["0 passed, 0 failed"])


def test_wrong_words(project):
    (project / "tests" / "PROMISES.md").write_text(HEAD)
    for words in ([], ["exist", "more"], ["ran"], ["walked"]):
        done = subprocess.run([TOOL, *words], cwd=project, capture_output=True, text=True, check=False)
        assert done.returncode == 2 and done.stdout == "" and "tests/lib/promises ran LOGS STAGE..." in done.stderr
