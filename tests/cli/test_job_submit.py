# SPDX-License-Identifier: Apache-2.0
"""Tests the job_submit snippet, with a real Lua, on tables as slurmctld passes them."""

import shutil
import subprocess
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
INTERPRETERS = [lua for lua in ("lua5.3", "lua5.4", "luajit") if shutil.which(lua)]
RULES = 'rules = { account = { physics = { "fast", "spill" } }, partition = { debug = { "interleave" }, long = {} } }'
OPTION = "_SLURM_SPANK_OPTION_hybridmem_hybrid_mem"
DENIED = 2002  # ESLURM_ACCESS_DENIED


def call(lua, case):
    mock = PROJECT / "tests" / "cli" / "job-submit-mock.lua"
    snippet = PROJECT / "etc" / "hybridmem-job-submit.lua"
    done = subprocess.run([lua, mock, snippet, f"{{ {case} }}"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    *told, returned = done.stdout.splitlines()
    return int(returned.split()[1]), told


def env(text):
    """spank_job_env as Slurm passes it: numbered from 0."""
    return f'spank_job_env = {{ [0] = "OTHER=x", [1] = "{OPTION}={text}" }}'


def test_there_is_a_lua():
    assert INTERPRETERS, "install lua5.3, lua5.4 or luajit"


@pytest.mark.parametrize("lua", INTERPRETERS)
@pytest.mark.parametrize(
    ("case", "returned", "told"),
    [
        ("submit = {}", 0, []),
        ("submit = { spank_job_env = { [0] = 'OTHER=x' }, partition = 'long' }", 0, []),
        (f"submit = {{ {env('spill')} }}", 0, []),
        (f"submit = {{ {env('spill,socket=local')}, account = 'physics' }}", 0, []),
        (f"submit = {{ {env('slow')}, account = 'chemistry', partition = 'main' }}", 0, []),
        (
            f"submit = {{ {env('slow,socket=local')}, account = 'physics' }}",
            DENIED,
            ["user: hybridmem: --hybrid-mem=slow is not allowed in account physics: use off, fast, spill"],
        ),
        (
            f"submit = {{ {env('slow')}, account = 'PHYSICS' }}",
            DENIED,
            ["user: hybridmem: --hybrid-mem=slow is not allowed in account PHYSICS: use off, fast, spill"],
        ),
        (f"submit = {{ {env('spill')}, partition = 'DEBUG' }}", 0, []),
        (
            f"submit = {{ {env('slow')}, default_account = 'physics' }}",
            DENIED,
            ["user: hybridmem: --hybrid-mem=slow is not allowed in account physics: use off, fast, spill"],
        ),
        (
            f"submit = {{ {env('spill')}, partition = 'main,debug' }}",
            DENIED,
            ["user: hybridmem: --hybrid-mem=spill is not allowed in partition debug: use off, interleave"],
        ),
        (
            f"submit = {{ {env('slow')}, partition = 'long', account = 'physics' }}",
            DENIED,
            [
                "user: hybridmem: --hybrid-mem=slow is not allowed in account physics: use off, fast, spill",
                "user: hybridmem: --hybrid-mem=slow is not allowed in partition long: use off",
            ],
        ),
        (f"submit = {{ {env('off')}, partition = 'long' }}", 0, []),
        (f"submit = {{ {env('')}, partition = 'long' }}", DENIED, None),
        (f"submit = {{ {env('%s%d')}, partition = 'long' }}", DENIED, None),
        (
            f"modify = {{ partition = 'debug' }}, job = {{ {env('spill')}, partition = 'main' }}",
            DENIED,
            ["user: hybridmem: --hybrid-mem=spill is not allowed in partition debug: use off, interleave"],
        ),
        (f"modify = {{}}, job = {{ {env('spill')}, partition = 'main', account = 'physics' }}", 0, []),
        ("modify = { partition = 'debug' }, job = {}", 0, []),
    ],
)
def test_who_is_refused_and_what_they_are_told(lua, case, returned, told):
    found = call(lua, f"{RULES}, {case}")
    assert found[0] == returned
    assert told is None or found[1] == told


@pytest.mark.parametrize("lua", INTERPRETERS)
def test_a_rule_for_an_account_may_have_capital_letters(lua):
    rules = "rules = { account = { Physics = {} } }"
    assert call(lua, f"{rules}, submit = {{ {env('spill')}, account = 'physics' }}")[0] == DENIED


@pytest.mark.parametrize("lua", INTERPRETERS)
def test_the_default_partition_counts_where_none_is_named(lua):
    rules = "rules = { partition = { main = {} } }"
    assert call(lua, f"{rules}, submit = {{ {env('spill')} }}")[0] == DENIED
    assert call(lua, f"{rules}, submit = {{ {env('spill')}, partition = 'debug' }}")[0] == 0


@pytest.mark.parametrize("lua", INTERPRETERS)
def test_as_installed_nobody_is_refused(lua):
    assert call(lua, f"submit = {{ {env('spill')}, partition = 'debug', account = 'physics' }}") == (0, [])


@pytest.mark.parametrize("lua", INTERPRETERS)
@pytest.mark.parametrize("names", [(OPTION, OPTION), (OPTION, f"SPANK_{OPTION}"), (f"SPANK_{OPTION}", OPTION)])
@pytest.mark.parametrize("texts", [("fsdax,size=1G", "fsdax,size=9G"), ("off", "slow"), ("spill", "spill")])
def test_the_option_given_twice_is_refused_whichever_the_node_would_take(lua, names, texts):
    settings = (f'"{name}={text}"' for name, text in zip(names, texts))
    twice = f"spank_job_env = {{ [0] = {next(settings)}, [1] = 'OTHER=x', [2] = {next(settings)} }}"
    told = ["user: hybridmem: --hybrid-mem is in the job's environment 2 times: give it once"]
    assert call(lua, f"submit = {{ {twice} }}") == (DENIED, told)
    assert call(lua, f"modify = {{ tres_per_node = '' }}, job = {{ {twice} }}") == (DENIED, [*told, "gres: "])


@pytest.mark.parametrize("lua", INTERPRETERS)
@pytest.mark.parametrize(("count", "length", "returned"), [(16, 4096, 0), (1, 4097, DENIED), (17, 4096, DENIED)])
def test_variables_that_no_node_starts_a_prolog_with_are_refused(lua, count, length, returned):
    """The snippet's limits are far below the kernel's, which starts no program with a variable of 128 KiB: the prolog
    then fails, and Slurm drains the node."""
    settings = ", ".join(f"'V{number:02}=' .. ('a'):rep({length - 4})" for number in range(count))
    large = f"spank_job_env = {{ {settings} }}"
    told = [
        "user: hybridmem: the job's SPANK environment is too large: at most 4096 bytes are allowed for one variable, "
        "and 65536 for all"
    ]
    assert call(lua, f"submit = {{ {large} }}") == (returned, told if returned else [])
    assert call(lua, f"modify = {{}}, job = {{ {large} }}") == (returned, told if returned else [])


@pytest.mark.parametrize("lua", INTERPRETERS)
@pytest.mark.parametrize("settings", ["'x'", "'=x'", "'A=1', 'B=1', 'A=2'"])
def test_settings_that_slurms_clients_do_not_send_are_refused(lua, settings):
    told = ["user: hybridmem: the job's SPANK environment has a setting without a name, or one name twice"]
    assert call(lua, f"submit = {{ spank_job_env = {{ 'OTHER=x', {settings} }} }}") == (DENIED, told)


@pytest.mark.parametrize("lua", INTERPRETERS)
def test_the_option_counts_under_the_name_that_slurmd_gives_it(lua):
    own = f'spank_job_env = {{ [0] = "SPANK_{OPTION}=fsdax,size=512M" }}'
    halves = f"gres/pmem:socket0:{256 << 20},gres/pmem:socket1:{256 << 20}"
    assert call(lua, f"{TWO}, submit = {{ {own} }}") == (0, [f"gres: {halves}"])
    assert call(lua, f"{RULES}, submit = {{ {own}, partition = 'long' }}")[0] == DENIED


# A GRES for each of two sockets, and the half of 512 MiB that each of them gets.
TWO = 'pmem = { types = { "socket0", "socket1" } }'
HALF = 256 << 20


@pytest.mark.parametrize("lua", INTERPRETERS)
@pytest.mark.parametrize(
    ("text", "more", "gres"),
    [
        ("fsdax,size=512M", "", f"gres/pmem:socket0:{HALF},gres/pmem:socket1:{HALF}"),
        ("fsdax,socket=all,size=512M", "", f"gres/pmem:socket0:{HALF},gres/pmem:socket1:{HALF}"),
        ("fsdax,size=512M,socket=local", "", f"gres/pmem:{2 * HALF}"),
        ("fsdax,socket=remote,size=512M", "", f"gres/pmem:{2 * HALF}"),
        ("fsdax,size=3T", "", f"gres/pmem:socket0:{3 << 39},gres/pmem:socket1:{3 << 39}"),
        ("fsdax,size=33M", "", "gres/pmem:socket0:33554432,gres/pmem:socket1:33554432"),
        ("fsdax,size=536870912", "tres_per_node = 'gres/gpu:1'", None),
        ("fsdax,size=512M", "tres_per_node = 'gres/0'", f"gres/pmem:socket0:{HALF},gres/pmem:socket1:{HALF},gres/0"),
        ("spill", "tres_per_node = 'gres/gpu:1'", "gres/gpu:1"),
        ("spill", "tres_per_node = 'gres/pmem:socket0:1G'", "gres/pmem:socket0:1G"),
        ("fsdax,size=512M,keep", "", ""),
        ("fsdax,keep,size=512M,socket=local", "tres_per_node = 'gres/gpu:1'", "gres/gpu:1"),
        ("fsdax,size=", "", ""),
        ("fsdax", "", ""),
        ("fsdax,size=5x", "", ""),
        ("fsdax,sizes=5", "", ""),
    ],
)
def test_the_memory_of_fsdax_is_asked_for_as_a_gres(lua, text, more, gres):
    returned, told = call(lua, f"{TWO}, submit = {{ {env(text)}, {more} }}")
    assert returned == 0
    if gres is None:
        gres = f"gres/pmem:socket0:{HALF},gres/pmem:socket1:{HALF},gres/gpu:1"
    assert told == ([f"gres: {gres}"] if gres else [])


@pytest.mark.parametrize("lua", INTERPRETERS)
@pytest.mark.parametrize("asked", ["gres/pmem:1", "gres:pmem:socket0:1G", "gpu:1,gres/pmem=1", "pmem", "xgres/pmem:1"])
def test_a_gres_of_the_users_own_beside_fsdax_is_refused(lua, asked):
    returned, told = call(lua, f"{TWO}, submit = {{ {env('fsdax,size=512M')}, tres_per_node = '{asked}' }}")
    assert returned != 0
    assert told[0].endswith("hybridmem: --gres=pmem is asked for by size= of --hybrid-mem=fsdax: leave it out"), told


@pytest.mark.parametrize("lua", INTERPRETERS)
@pytest.mark.parametrize(
    ("changed", "text", "gres"),
    [
        ("", "fsdax,size=512M", f"gres/pmem:socket0:{HALF},gres/pmem:socket1:{HALF}"),
        ("gres/", "fsdax,size=512M", f"gres/pmem:socket0:{HALF},gres/pmem:socket1:{HALF}"),
        ("gres:", "fsdax,size=512M,socket=remote", f"gres/pmem:{2 * HALF}"),
        ("gres/gpu:1", "fsdax,size=512M", f"gres/pmem:socket0:{HALF},gres/pmem:socket1:{HALF},gres/gpu:1"),
        ("gres/0", "fsdax,size=512M", f"gres/pmem:socket0:{HALF},gres/pmem:socket1:{HALF},gres/0"),
        ("gres/gpu:1", "fsdax,size=512M,socket=local", f"gres/pmem:{2 * HALF},gres/gpu:1"),
        (None, "fsdax,size=512M", None),
        ("", "fsdax,size=512M,keep", ""),
        ("gres/gpu:1", "spill", "gres/gpu:1"),
        ("gres/pmem:socket0:1", "spill", "gres/pmem:socket0:1"),
    ],
)
def test_a_job_whose_gres_are_changed_has_the_same_memory_counted(lua, changed, text, gres):
    change = "" if changed is None else f"tres_per_node = '{changed}'"
    held = "tres_per_node = 'gres/pmem:socket0:1G,gres/pmem:socket1:1G'"
    returned, told = call(lua, f"{TWO}, modify = {{ {change} }}, job = {{ {env(text)}, {held} }}")
    assert (returned, told) == (0, [] if gres is None else [f"gres: {gres}"])


@pytest.mark.parametrize("lua", INTERPRETERS)
@pytest.mark.parametrize("changed", ["gres/pmem:socket0:1", "gres/gpu:1,gres/pmem:socket1:0", "pmem:1"])
def test_a_gres_of_the_users_own_is_refused_also_when_a_job_is_changed(lua, changed):
    case = f"modify = {{ tres_per_node = '{changed}' }}, job = {{ {env('fsdax,size=512M')} }}"
    returned, told = call(lua, f"{TWO}, {case}")
    assert returned != 0
    assert told[0].endswith("hybridmem: --gres=pmem is asked for by size= of --hybrid-mem=fsdax: leave it out"), told


@pytest.mark.parametrize("lua", INTERPRETERS)
def test_a_gres_of_a_similar_name_is_left_alone(lua):
    asked = "gres/pmemory:1,gres/gpu:pmem:1"
    returned, told = call(lua, f"{TWO}, submit = {{ {env('fsdax,size=512M')}, tres_per_node = '{asked}' }}")
    assert (returned, told) == (0, [f"gres: gres/pmem:socket0:{HALF},gres/pmem:socket1:{HALF},{asked}"])


@pytest.mark.parametrize("lua", INTERPRETERS)
def test_as_installed_no_gres_is_asked_for(lua):
    assert call(lua, f"submit = {{ {env('fsdax,size=512M')} }}") == (0, [])
    prefix = 'pmem = { types = { "a" }, prefix = "gres:", gres = "nvm" }'
    assert call(lua, f"{prefix}, submit = {{ {env('fsdax,size=1G')} }}") == (0, [f"gres: gres:nvm:a:{1 << 30}"])


@pytest.mark.parametrize("lua", INTERPRETERS)
@pytest.mark.parametrize("bare", ["false", "true", "7"])
@pytest.mark.parametrize("job", ["", env("spill")])
def test_what_is_no_table_in_the_place_of_the_tables_refuses_no_job(lua, bare, job):
    """As if the site had set nothing; an error would refuse all jobs, also those without the option."""
    assert call(lua, f"bare = {bare}, submit = {{ {job} }}") == (0, [])
