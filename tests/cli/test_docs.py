# SPDX-License-Identifier: Apache-2.0
"""Tests the guides and man pages: what they show is run, and what they name exists. What needs Slurm is in
tests/system."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import docblocks
import pytest
import readhelpers
from docblocks import GUIDES
from installed import DATA, LIBEXEC, PREFIX, helper, modes, needs_memmode, needs_ndctl, needs_papi, needs_slurmenergy

PROJECT = Path(__file__).resolve().parents[2]
MAN = GUIDES / "man"
HOST = list(docblocks.runs("host"))
LISTING = {"capture_output": True, "text": True, "check": False}  # the status says if a source works here
ALL = [block for guide in ("user-guide.md", "admin-guide.md") for block in docblocks.blocks(guide)]


@pytest.mark.parametrize("block", ALL, ids=docblocks.Block.name)
def test_every_block_is_run_or_is_said_not_to_be(block):
    assert block.language in docblocks.LANGUAGES
    if block.language == "console":
        assert block.kind == "run" and re.fullmatch(r"host|guest as (alice|root)", block.words[0])
    elif block.language != "text":
        assert block.kind == "file"
    elif not block.text.startswith("does all of it"):
        before = (GUIDES / block.guide).read_text().splitlines()[: block.line - 1]
        assert "Not run by our tests in this form" in "\n".join(before[-5:])


@pytest.mark.parametrize(("block", "files"), HOST, ids=[block.name() for block, _ in HOST])
def test_commands_of_the_guides(tmp_path, block, files):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    for word in block.words:
        if " = " in word:
            name, fixture = word.split(" = ")
            folder = {".zst": "traces", ".json": "sites"}.get(Path(fixture).suffix, "topology")
            shutil.copy(PROJECT / "tests" / "fixtures" / folder / fixture, tmp_path / name)
    env = {"PATH": f"{PREFIX}/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(tmp_path)}
    shell = docblocks.Shell(["bash", "--noprofile", "--norc"], tmp_path, env)
    try:
        docblocks.play(block, shell)
    finally:
        shell.close()


def test_the_runner_sees_what_differs(tmp_path):
    def play(text, *words):
        shell = docblocks.Shell(["bash", "--noprofile", "--norc"], tmp_path)
        try:
            docblocks.play(docblocks.Block("guide", 1, "console", "run", ["host", *words], text), shell)
        finally:
            shell.close()

    play("$ export A=1\n$ echo  a   $A\na 1\n")
    play("$ printf 'a\\nb\\nc\\n'; false\na...\nc\n", "status 1")
    play("$ echo Submitted batch job 77\nSubmitted batch job 1234\n$ echo 1234 78\n1234 78\n")
    for wrong in ("$ echo a\nb\n", "$ echo a\n", "$ echo a\na\nb\n", "$ false\n", "text\n", ""):
        with pytest.raises((AssertionError, IndexError)):
            play(wrong)


def test_the_readme_shows_what_the_demo_runs():
    """The README shows the demo's commands, by the same users, in the demo's UTF-8 locale."""
    shown = re.search(r"^```text\n(\[alice@n1\].*?)^```$", (PROJECT / "README.md").read_text(), re.M | re.S)[1]
    demo = (PROJECT / "tests" / "lib" / "demo-in-guest").read_text()
    run = [(user, words) for user, _, words in re.findall(r"""^show (\w+) (['"])(.*?)\2""", demo, re.MULTILINE)]
    assert len(run) >= 7
    assert re.findall(r"^\[(\w+)@n1\]\$ (.*)$", shown, re.MULTILINE) == [(u, w.replace("$job", "1")) for u, w in run]
    assert "LANG=C.UTF-8" in demo and "█" in shown and "##" not in shown
    assert "\n\n1 passed, 0 failed\n" in shown


def test_a_build_in_the_source_tree_leaves_nothing_for_git():
    """What the README's build makes in the source tree is ignored by git, and no source file is."""
    programs = {path.name for path in LIBEXEC.glob("hybridmem-*")}
    found = [*PROJECT.glob("helpers/*/Makefile.am"), PROJECT / "spank" / "Makefile.am"]
    makefiles = {path.parent: path.read_text() for path in found}
    made = [
        f"{folder}/{name}" for folder, text in makefiles.items() for name in programs if re.search(rf"\b{name}\b", text)
    ]
    made += [
        str(PROJECT / name) for name in ("etc/plugstack.conf", "helpers/cli/hybridmem", "tests/unit/core/test-plan")
    ]
    assert len(made) > 20

    def git(*words, **options):
        return subprocess.run(["git", "-C", PROJECT, *words], capture_output=True, text=True, **options).stdout

    ignored = git("check-ignore", "--no-index", "--stdin", input="\n".join(made), check=True)
    assert ignored.splitlines() == made
    assert git("ls-files", "--cached", "--ignored", "--exclude-standard", check=True) == ""


def test_the_job_submit_script_of_the_guide_runs(tmp_path):
    (text,) = (block.text for block in ALL if block.words == ["job_submit.lua"])
    assert "/usr/share/hybridmem" in text
    script = tmp_path / "job_submit.lua"
    script.write_text(
        "slurm = { SUCCESS = 0, ERROR = -1, log_user = function(...) print(string.format(...)) end }\n"
        + text.replace("/usr/share/hybridmem", str(DATA))
        + 'local env = { [0] = "_SLURM_SPANK_OPTION_hybridmem_hybrid_mem=spill" }\n'
        'print(slurm_job_submit({ spank_job_env = env, partition = "debug" }, {}, 0))\n'
        'print(slurm_job_modify({ partition = "main" }, { spank_job_env = env, account = "teaching" }, {}, 0))\n'
    )
    done = subprocess.run(["lua5.3", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "hybridmem: --hybrid-mem=spill is not allowed in partition debug: use off, fast",
        "-1",
        "0",
    ]


def test_the_guides_settings_for_nodes_in_another_mode(tmp_path):
    """They are written below the job_submit script of the guide. "memory" is not in its rules for accounts."""
    (script,) = (block.text for block in ALL if block.words == ["job_submit.lua"])
    (settings,) = (block.text for block in ALL if block.words == ["memmode.lua"])
    path = tmp_path / "job_submit.lua"
    path.write_text(
        "slurm = { SUCCESS = 0, ERROR = -1, NO_VAL = 0xfffffffe, log_user = function(...) end }\n"
        + (script + settings).replace("/usr/share/hybridmem", str(DATA))
        + 'local env = { [0] = "_SLURM_SPANK_OPTION_hybridmem_hybrid_mem=memory" }\n'
        'local job = { spank_job_env = env, partition = "main", account = "physics", features = "a|b" }\n'
        "print(slurm_job_submit(job, {}, 0), job.features, job.delay_boot)\n"
        'job.account, job.qos = "chemistry", "normal"\n'
        "print(slurm_job_submit(job, {}, 0))\n"
    )
    done = subprocess.run(["lua5.3", path], capture_output=True, text=True, check=True)
    assert done.stdout == "0\ta&memmode=cache|b&memmode=cache\t3600\n-1\n"


def test_the_clusters_settings_are_those_of_the_guide():
    """tests/cluster runs what the guide says of Slurm's settings for nodes that change their mode."""
    files = {block.words[0]: block.text for block in ALL if block.kind == "file"}
    folders = (PROJECT / "tests" / "cluster" / "slurm", PROJECT / "tests" / "testbed" / "guest-files" / "etc" / "slurm")
    site = "".join((folder / name).read_text() for folder, name in zip(folders, ("site.conf", "slurm.conf")))
    assert set(files["memmode-slurm.conf"].splitlines()) <= set(site.splitlines())
    assert (folders[0] / "helpers.conf").read_text().endswith("\n" + files["helpers-24.11.conf"])


@pytest.mark.parametrize("version", ["22.05", "24.11", "mixed"])
def test_the_guides_helpers_conf_has_the_form_that_slurm_reads(version):
    """Up to 22.05, a line has one feature and names no nodes. No name of a feature may be part of another."""
    (text,) = (block.text for block in ALL if block.words == [f"helpers-{version}.conf"])
    lines = [dict(word.split("=", 1) for word in line.split()) for line in text.splitlines()]
    helpers = [line for line in lines if "Helper" in line]
    features = [feature for line in helpers for feature in line["Feature"].split(",")]
    assert features == ["memmode=flat", "memmode=cache", "memmode=mixed"][: 3 if version == "mixed" else 2]
    assert [line["MutuallyExclusive"] for line in lines if "MutuallyExclusive" in line] == [",".join(features)]
    assert {line["Helper"] for line in helpers} == {"/usr/libexec/hybridmem/hybridmem-memmode"}
    assert {"ExecTime", "BootTime"} <= {name for line in lines for name in line}
    old = all("," not in line["Feature"] and "NodeName" not in line for line in helpers)
    assert old == (version == "22.05")


def test_slurm_reads_the_guides_helpers_conf(tmp_path):
    """Slurm's own plugin of this host's release: 22.05 on Debian 12, where the newer form is none, and 24.11 on 13."""
    is_old = any(readhelpers.PLUGINS.parent.glob("libslurm.so.38"))
    assert readhelpers.read(tmp_path, "22.05") == readhelpers.WHOLE
    assert readhelpers.read(tmp_path, "24.11") == (None if is_old else readhelpers.WHOLE)


def test_the_cli_filter_script_of_the_guide_runs(tmp_path):
    """It is called with the options of sbatch, as a table that Slurm fills."""
    (text,) = (block.text for block in ALL if block.words == ["cli_filter.lua"])
    script = tmp_path / "cli_filter.lua"
    script.write_text(
        "slurm = { SUCCESS = 0, ERROR = -1, log_error = function(...) print(string.format(...)) end }\n"
        + text.replace("/usr/share/hybridmem", str(DATA))
        + 'local options = { spank = { hybridmem = { ["hybrid-mem"] = "slow" } }, type = "sbatch", constraint = "a" }\n'
        "print(slurm_cli_setup_defaults(options, false), slurm_cli_pre_submit(options, 0), options.constraint)\n"
        'options.constraint = "memmode=cache"\n'
        "print(slurm_cli_pre_submit(options, 0), slurm_cli_post_submit(0, 7, 0))\n"
    )
    done = subprocess.run(["lua5.3", script], capture_output=True, text=True, check=True)
    first, refused, last = done.stdout.splitlines()
    assert (first, last) == ("0\t0\ta&memmode=flat", "-1\t0")
    assert refused.endswith("it names memmode=cache: leave that out")


def test_each_configuration_of_the_guides_table_has_its_plan():
    """The rows of the table of configurations, on machines in both modes: tasks on the first socket."""
    guide = (PROJECT / "site-docs" / "admin-guide.md").read_text()
    row = r"^\| (\S+) \| (flat|cache)[^|]*\| `--hybrid-mem=(\S+?)(?: (--mem-bind=\S+))?`"
    rows = re.findall(row, guide, re.MULTILINE)
    assert len(rows) == 12
    nodes = {"DRAM": [0, 1], "DRAM-local": [0], "DRAM-remote": [1], "PMM": [2, 3], "PMM-numa-local": [2]}
    nodes |= {"PMM-numa-remote": [3], "DRAM-PMM-interleave": [0, 1, 2, 3]}
    sockets = {"PMM-fsdax-local": [0], "PMM-fsdax-remote": [1]}
    for name, mode, request, bind in rows:
        xml = (
            PROJECT
            / "tests"
            / "fixtures"
            / "topology"
            / {"flat": "optane-2-sockets.xml", "cache": "memory-mode.xml"}[mode]
        )
        made = json.loads(helper("hybridmem-plan", request, "--json", "--topology", xml, "--cpus", "0").stdout)
        assert made["nodes"] == nodes.get(name, []), name
        assert (made["fsdax"] or {}).get("sockets") == sockets.get(name), name
        assert (made["side_cache_bytes"] is not None) == (mode == "cache") == name.startswith("MemoryMode"), name
        assert bool(bind) == (name in ("MemoryMode-local", "MemoryMode-remote")), name


def rendered(page):
    env = {**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "400", "MAN_KEEP_FORMATTING": ""}
    done = subprocess.run(
        ["man", "--warnings", "--no-hyphenation", "-l", page], capture_output=True, text=True, check=True, env=env
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("page", sorted(MAN.iterdir()), ids=lambda page: page.name)
def test_man_pages_are_installed_and_free_of_warnings(page):
    assert rendered(page)
    assert (PREFIX / "share" / "man" / f"man{page.suffix[1:]}" / page.name).read_text() == page.read_text()
    lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], capture_output=True, text=True, check=False)
    assert lint.stdout + lint.stderr == ""


@pytest.mark.parametrize("page", sorted(MAN.iterdir()), ids=lambda page: page.name)
def test_man_pages_name_pages_that_are_there(page):
    names = re.findall(r"\b(hybridmem[a-z.-]*)\((\d)\)", rendered(page))
    assert names
    for name, section in names:
        assert (MAN / f"{name}.{section}").exists(), f"{name}({section})"


@pytest.mark.parametrize(
    "command",
    [
        "tiers",
        "plan",
        "show",
        "report",
        "export",
        "top",
        "meter",
        "trace",
        "replay",
        "sites",
        "profile",
        "bench",
        "config",
    ],
)
def test_man_pages_have_the_options_of_the_programs(command):
    """Both ways: every option of --help is in the man page, and every option of the page is in --help."""
    sites = [[part] for part in ("run", "show", "plan", "guide", "merge", "check", "list", "record")]
    parts = {"sites": sites, "profile": [["mbi", part] for part in ("plan", "run", "status", "merge", "task")]}.get(
        command, []
    )
    text = "".join(helper(f"hybridmem-{command}", *words, "--help").stdout for words in [[], *parts])
    page = rendered(MAN / f"hybridmem-{command}.1")
    options = r"(?<![\w-])--[a-z][a-z-]+"
    others = {"--hybrid-mem", "--disallowed", "--tool", "--trace-mem"}  # of sbatch, lstopo and valgrind
    assert set(re.findall(options, page)) - others == set(re.findall(options, text)) - others


@pytest.mark.parametrize(
    ("program", "words", "status"),
    [
        ("migrator", ["--help"], 0),
        ("ingest", ["--help"], 0),
        pytest.param("namespace", ["--help"], 0, marks=needs_ndctl),
        pytest.param("memmode", ["--help"], 0, marks=needs_memmode),
        pytest.param("papi", ["--help"], 0, marks=needs_papi),
        pytest.param("slurmenergy", ["--help"], 0, marks=needs_slurmenergy),
        ("damon", [], 2),
        ("spool", ["--help"], 0),
        ("collect", ["--help"], 0),
    ],
)
def test_man_pages_have_the_options_of_the_helper_programs(program, words, status):
    done = helper(f"hybridmem-{program}", *words, status=status)
    options = r"(?<![\w-])--[a-z][a-z-]+"
    others = {"--hybrid-mem", "--require-hashes", "--only-binary"}  # of sbatch and pip
    known = set(re.findall(options, done.stdout + done.stderr)) - others
    assert known
    assert set(re.findall(options, rendered(MAN / f"hybridmem-{program}.8"))) - others == known


def test_the_page_of_the_migrator_has_its_sources_algorithms_and_figures():
    page = rendered(MAN / "hybridmem-migrator.8")
    algorithms, sources = helper("hybridmem-migrator", "--help").stdout.split("Algorithms:")[1].split("Sources,")
    figures = (PROJECT / "helpers" / "migrator" / "figures" / "figures.c").read_text()
    names = re.findall(r"^  (\w+)\b", algorithms + sources, re.MULTILINE)
    keys = re.findall(r'^    {"(\w+)", [A-Z]+, offsetof', figures, re.MULTILINE)
    assert len(names) >= 5 and len(keys) >= 20
    for word in [*names, *keys, "unmoved_bytes", "heat", "warnings"]:
        assert re.search(rf"\b{word}\b", page), word


def test_pages_have_the_sources_of_samples():
    listed = json.loads(subprocess.run([LIBEXEC / "hybridmem-sources", "--json"], **LISTING).stdout)
    words = ["auto", *(source["name"] for source in listed["sources"])]
    assert re.search(rf"^ {{7}}source={'[|]'.join(words)}$", rendered(MAN / "hybridmem-spank.7"), re.MULTILINE)
    guide = re.search(r"^\| `source` \|.*", (GUIDES / "user-guide.md").read_text(), re.MULTILINE)[0]
    page = rendered(MAN / "hybridmem-sources.1")
    for word in words:
        assert f"`{word}`" in guide and re.search(rf"\b{word}\b", page), word


def test_the_page_of_meter_has_its_sources():
    page = rendered(MAN / "hybridmem-meter.1")
    listed = json.loads(subprocess.run([LIBEXEC / "hybridmem-meter", "--list", "--json"], **LISTING).stdout)
    for source in listed["sources"]:
        assert re.search(rf"^ {{7}}{source['name']}\b", page, re.MULTILINE), source["name"]


def test_the_page_of_hybridmem_has_its_commands():
    text = subprocess.run([PREFIX / "bin" / "hybridmem", "help"], capture_output=True, text=True, check=True).stdout
    commands = re.findall(r"^  (\w+) ", text, re.MULTILINE)
    page = rendered(MAN / "hybridmem.1").split("COMMANDS\n")[1].split("\nOPTIONS")[0]
    assert commands == re.findall(r"^ {7}(\w+)", page, re.MULTILINE)


def test_the_page_of_hybridmem_conf_has_its_words():
    """Every word that the program shows, and every section, is in the man page."""
    page = rendered(MAN / "hybridmem.conf.5")
    for word in re.findall(r"^(?:# )?(\w+) (?:=|is not set)", helper("hybridmem-config", "show").stdout, re.MULTILINE):
        assert re.search(rf"^       {word} = ", page, re.MULTILINE), word
    for section in ("tier", "channels", "user", "group", "account", "partition"):
        assert re.search(rf"\b{section}\b", page), section


def test_the_example_of_hybridmem_conf_is_right(tmp_path):
    example = re.search(r"^EXAMPLE\n(.*?)^SEE ALSO", rendered(MAN / "hybridmem.conf.5"), re.MULTILINE | re.DOTALL)[1]
    path = tmp_path / "hybridmem.conf"
    path.write_text(example)
    helper("hybridmem-config", "check", "--file-only", "--config", path)


def test_the_page_of_the_option_has_its_modes_and_keys():
    page = rendered(MAN / "hybridmem-spank.7")
    heads = re.findall(r"^ {7}([a-z-]+(?:, [a-z-]+)*)(?=[ =\n])", page, re.MULTILINE)
    named = [word for head in heads for word in head.split(", ")]
    table = re.findall(r"^\| (`.*?) \|", (GUIDES / "user-guide.md").read_text(), re.MULTILINE)
    explained = {word.split(",")[0] for row in table for word in re.findall(r"`([^`]*)`", row)}
    for mode in modes():
        assert mode["name"] in named and mode["name"] in explained, mode
        assert set(mode["keys"]) <= set(named), mode


def test_the_table_of_hooks_has_each_function_that_slurm_calls():
    section = (GUIDES / "security.md").read_text().split("## How long a hook may take")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| ")]
    functions = re.findall(r"^int slurm_spank_(\w+)\(", (PROJECT / "spank" / "dispatch.c").read_text(), re.M)
    assert len(functions) == 8
    for function in functions:
        assert any(f"`{function}`" in row for row in rows), function


def test_links_inside_the_guides():
    for guide in GUIDES.glob("*.md"):
        text = guide.read_text()
        heads = {
            re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        }
        for target in re.findall(r"\]\(#([^)]*)\)", text):
            assert target in heads, f"{guide.name}: #{target}"


def test_pictures_of_the_guides():
    """Every picture exists, is small, and is used. tests/cli/makepicture.py makes the picture of the report; the other
    one is drawn by hand."""
    used = {name for guide in GUIDES.glob("*.md") for name in re.findall(r"!\[[^]]+\]\((.*?)\)", guide.read_text())}
    assert used == {f"images/{path.name}" for path in (GUIDES / "images").iterdir()}
    for name in used:
        picture = (GUIDES / name).read_bytes()
        assert picture.startswith(b"<?xml" if name.endswith(".svg") else b"\x89PNG")
        assert 10_000 < len(picture) < 150_000


def test_what_architecture_names_is_there():
    """Each folder, file, C function and program named in the text or in its picture exists. A path begins at the top or
    in helpers/."""
    text, picture = ((GUIDES / name).read_text() for name in ("architecture.md", "images/architecture.svg"))
    drawn = " ".join(re.findall(r'class="code"[^>]*>([^<]*)<', picture))
    words = [*re.findall(r"`([^`\n]+)`", text), *drawn.split()]
    paths = [word for word in words if re.fullmatch(r"[a-z]+(/[\w.-]*)+", word)]
    assert len(paths) > 80
    for path in paths:
        assert (PROJECT / path).exists() or (PROJECT / "helpers" / path).exists(), path
    source = "\n".join(file.read_text() for top in ("helpers", "spank") for file in (PROJECT / top).rglob("*.h"))
    functions = [word for word in words if word.startswith("hm_")]
    assert len(functions) > 15
    for name in functions:
        assert re.search(rf"\b{name}\(", source), name
    for program in {word for word in words if re.fullmatch("hybridmem-[a-z]+", word)}:
        assert any(program in file.read_text() for file in PROJECT.glob("*/**/Makefile.am")), program
    for folder in (PROJECT / "helpers").iterdir():
        assert not folder.is_dir() or f"**`helpers/{folder.name}`**" in text, folder
