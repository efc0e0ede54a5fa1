# SPDX-License-Identifier: Apache-2.0
"""Tests the constraint that a mode needs: how job_submit and cli_filter join it to a job's own, with a real Lua."""

import itertools
import os
import re
import subprocess
from pathlib import Path

import pytest
from test_job_submit import DENIED, INTERPRETERS, call, env

PROJECT = Path(__file__).resolve().parents[2]
FLAT = 'memmode = { flat = "memmode=flat" }'
ERROR, FEATURE = -1, 2029  # FEATURE: ESLURM_INVALID_FEATURE
CACHE = "memmode=cache"


@pytest.fixture(params=INTERPRETERS)
def lua(request):
    return request.param


def quoted(**fields):
    return ", ".join(f'{name} = "{value}"' for name, value in fields.items())


def submit(lua, text, site=FLAT, **fields):
    """What a new job becomes: the status, and what the user is told and what was set, by name."""
    option = f"{env(text)}, " if text else ""
    returned, told = call(lua, f"{site}, submit = {{ {option}{quoted(**fields)} }}")
    return returned, dict(line.split(": ", 1) for line in told)


def filtered(lua, text, site=FLAT, environment=None, **fields):
    mock = PROJECT / "tests" / "cli" / "cli-filter-mock.lua"
    script = PROJECT / "etc" / "hybridmem-cli-filter.lua"
    spank = f'spank = {{ hybridmem = {{ ["hybrid-mem"] = "{text}" }} }}, ' if text else "spank = {}, "
    case = f"{{ {site}, options = {{ {spank}{quoted(**fields)} }} }}"
    variables = {name: value for name, value in os.environ.items() if not name.startswith("SLURM_")}
    done = subprocess.run(
        [lua, mock, script, case], capture_output=True, text=True, check=True, env={**variables, **(environment or {})}
    )
    *told, returned = done.stdout.splitlines()
    return int(returned.split()[1]), dict(line.split(": ", 1) for line in told)


# A job's own constraint, and the one that it gets under the mode memory.
JOINED = {
    "": CACHE,
    "a": f"a&{CACHE}",
    "a&b": f"a&b&{CACHE}",
    "a,b": f"a,b&{CACHE}",
    "a|b": f"a&{CACHE}|b&{CACHE}",
    "(a|b)&c": f"(a|b)&c&{CACHE}",
    "c&(a|b)": f"c&(a|b)&{CACHE}",
    "(a&b)|c": f"(a&b)&{CACHE}|c&{CACHE}",
    "(a&b)|(c&d)": f"(a&b)&{CACHE}|(c&d)&{CACHE}",
    CACHE: CACHE,
    f"a&{CACHE}": f"a&{CACHE}",
    f"{CACHE},a": f"{CACHE},a",
    f"a&{CACHE}|b&{CACHE}": f"a&{CACHE}|b&{CACHE}",
    f"a|{CACHE}": f"a&{CACHE}|{CACHE}",
    f"({CACHE}|a)": f"({CACHE}|a)&{CACHE}",
    "memmode": f"memmode&{CACHE}",
    "other=cache": f"other=cache&{CACHE}",
}
# What cannot be joined, and the end of the line that says why.
REFUSED = {
    "memmode=flat": "it names memmode=flat: leave that out",
    "a&(b|memmode=flat)": "it names memmode=flat: leave that out",
    "memmode=other": "it names memmode=other: leave that out",
    f"{CACHE}&memmode=mixed": f"it names {CACHE}: leave that out",
    f"{CACHE}|memmode=flat": "it names memmode=flat: leave that out",
    "memmode=flat*2": "it names memmode=flat: leave that out",
    "[a|b]": "Slurm takes none of [ ] * beside it",
    "a*2": "Slurm takes none of [ ] * beside it",
    "[a*2&b*4]": "Slurm takes none of [ ] * beside it",
    "[(a|b)*1&(c)*2]": "Slurm takes none of [ ] * beside it",
    "a|b&c": "| and & are beside each other: write parentheses around what belongs together",
    f"a|b&{CACHE}": "| and & are beside each other: write parentheses around what belongs together",
    "(a|b)&c|d": "| and & are beside each other: write parentheses around what belongs together",
}


@pytest.mark.parametrize("own", JOINED)
def test_memory_asks_for_a_cached_node_beside_what_the_job_asks_for(lua, own):
    wanted = JOINED[own]
    assert submit(lua, "memory", features=own) == (0, {"features": wanted})
    again = submit(lua, "memory", features=wanted)
    assert again == (0, {"features": wanted}), "cli_filter has joined it before job_submit does"
    told = filtered(lua, "memory", **({"constraint": own} if own else {}))
    assert told == (0, {} if own == wanted else {"constraint": wanted})


@pytest.mark.parametrize("own", REFUSED)
def test_what_cannot_be_joined_is_refused_in_one_line(lua, own):
    needed = "memmode=mixed" if "memmode=mixed" in own else CACHE
    line = (
        f"hybridmem: --hybrid-mem=memory needs {needed}, which cannot be joined to --constraint={own}: {REFUSED[own]}"
    )
    assert submit(lua, "memory", features=own) == (FEATURE, {"user": line, "features": own})
    assert filtered(lua, "memory", constraint=own) == (ERROR, {"error": line})


@pytest.mark.parametrize("own", [own for own in JOINED if CACHE not in own])
def test_other_modes_keep_away_from_cached_nodes(lua, own):
    wanted = JOINED[own].replace(CACHE, "memmode=flat")
    for text in ("spill", "fast,socket=local", "fsdax,size=1G", "migrate"):
        assert submit(lua, text, features=own) == (0, {"features": wanted})
    returned, told = submit(lua, "spill", features=CACHE)
    assert returned == FEATURE and told["user"].endswith(f"it names {CACHE}: leave that out")


@pytest.mark.parametrize("text", [None, "off", "spill"])
def test_nothing_is_asked_for_without_a_need(lua, text):
    """Jobs without the option and with "off" go anywhere; so do others where no feature is set for them."""
    site = FLAT if text != "spill" else "memmode = {}"
    for own in ("a|b&c", "[a|b]", CACHE):
        assert submit(lua, text, site, features=own) == (0, {"features": own})
        assert filtered(lua, text, site, constraint=own) == (0, {})
    assert submit(lua, text, site) == (0, {})
    assert submit(lua, "memory", "memmode = { cache = false }", features="[a|b]") == (0, {"features": "[a|b]"})


# What Slurm makes of a constraint (_feature_string2list in its source): features, in parentheses at most one deep.
FORM = re.compile(r"(?:\((?:f|a|b)(?:[&|,](?:f|a|b))*\)|f|a|b)(?:[&|,](?:\((?:f|a|b)(?:[&|,](?:f|a|b))*\)|f|a|b))*")


def from_left_to_right(text, has):
    """How Slurm reads a constraint none of whose features it changes itself."""
    value, parts = None, re.findall(r"\(.*?\)|\w+|[&|,]", text)
    for operator, part in zip(["&", *parts[1::2]], parts[::2]):
        found = from_left_to_right(part[1:-1], has) if part[0] == "(" else has[part]
        value = found if value is None else value or found if operator == "|" else value and found
    return value


def ands_first(text, has):
    """How it reads one with a feature that it changes."""
    python = re.sub(r"\w+", lambda name: str(has[name[0]]), text)
    return eval(python.replace("&", " and ").replace(",", " and ").replace("|", " or "))


def test_no_constraint_leads_to_a_node_without_the_feature(lua):
    """All constraints of up to seven signs, however Slurm reads the one that is made: it needs the feature, and nothing
    else than the job's own constraint needs."""
    signs = itertools.chain.from_iterable(itertools.product("abf&|()", repeat=count) for count in range(1, 8))
    own = [text for text in map("".join, signs) if FORM.fullmatch(text)]
    script, mock = PROJECT / "etc" / "hybridmem-constraint.lua", PROJECT / "tests" / "cli" / "constraint-mock.lua"
    lines = "".join(f"{text.replace('f', CACHE)}\n" for text in own)
    done = subprocess.run([lua, mock, script, "[]*"], input=lines, capture_output=True, text=True, check=True)
    made = [line.replace(CACHE, "f") for line in done.stdout.splitlines()]
    assert len(made) == len(own) > 1000
    for before, after in zip(own, made):
        if after == "-":
            assert re.search(r"\|.*&|&.*\|", before), before
            continue
        assert FORM.fullmatch(after), (before, after)
        for a, b, f in itertools.product((False, True), repeat=3):
            has = {"a": a, "b": b, "f": f}
            for read in (from_left_to_right, ands_first):
                assert read(after, has) == (f and read(before, has)), (before, after, has, read)


MIXED = "memmode=mixed"


def test_a_job_may_ask_for_a_mixed_node_itself(lua):
    """Such a node has memory behind a cache, and persistent memory."""
    for text in ("memory", "fsdax,size=1G"):
        assert submit(lua, text, features=MIXED) == (0, {"features": MIXED})
        assert submit(lua, text, features=f"a|{MIXED}") == (0, {"features": f"a&{MIXED}|{MIXED}"})
        assert filtered(lua, text, constraint=f"a&{MIXED}") == (0, {})
    assert submit(lua, "memory", prefer=MIXED) == (0, {"features": CACHE, "prefer": MIXED})
    returned, told = submit(lua, "spill", features=MIXED)
    assert returned == FEATURE and told["user"].endswith(f"it names {MIXED}: leave that out")
    site = 'memmode = { flat = "memmode=flat", mixed = false }'
    assert submit(lua, "memory", site, features=MIXED)[0] == FEATURE
    returned, told = submit(lua, "memory", WHO, features=MIXED)
    assert (returned, told["user"]) == (DENIED, RULES.replace(CACHE, MIXED))
    assert submit(lua, "memory", WHO, features=MIXED, qos="big")[0] == 0


def test_what_a_job_prefers_is_joined_as_well(lua):
    """Slurm tries --prefer in place of --constraint, which it overrides."""
    wanted = {"features": f"a&{CACHE}", "prefer": f"b&{CACHE}|c&{CACHE}"}
    assert submit(lua, "memory", features="a", prefer="b|c") == (0, wanted)
    assert filtered(lua, "memory", prefer="b") == (0, {"constraint": CACHE, "prefer": f"b&{CACHE}"})
    returned, told = submit(lua, "memory", prefer="memmode=flat")
    assert returned == FEATURE and "joined to --prefer=memmode=flat: it names memmode=flat" in told["user"]


def test_a_slurm_without_the_error_gets_its_general_one(lua):
    assert submit(lua, "memory", f"{FLAT}, old = true", features="memmode=flat")[0] == ERROR


def test_a_site_says_which_operators_its_slurm_takes(lua):
    old = 'memmode = { refused = "[]()|*" }'
    returned, told = submit(lua, "memory", old, features="a|b")
    assert returned == FEATURE and told["user"].endswith("Slurm takes none of [ ] ( ) | * beside it")
    fixed = 'memmode = { refused = "*" }'
    assert submit(lua, "memory", fixed, features="[a|b]") == (0, {"features": f"[a|b]&{CACHE}"})


def test_features_may_have_other_names(lua):
    site = 'memmode = { cache = "2lm", flat = "1lm" }'
    assert submit(lua, "memory", site, features="a") == (0, {"features": "a&2lm"})
    assert submit(lua, "slow", site, features="2lmx") == (0, {"features": "2lmx&1lm"})
    assert submit(lua, "slow", site, features="2lm")[0] == FEATURE


def modify(lua, text, changes, held="", site=FLAT):
    returned, told = call(lua, f"{site}, modify = {{ {changes} }}, job = {{ {env(text)}, {held} }}")
    return returned, dict(line.split(": ", 1) for line in told)


def test_a_pending_job_keeps_its_constraint_when_it_is_changed(lua):
    assert modify(lua, "memory", 'features = ""') == (0, {"features": CACHE})
    assert modify(lua, "memory", 'features = "a|b"') == (0, {"features": f"a&{CACHE}|b&{CACHE}"})
    assert modify(lua, "memory", 'features = "memmode=flat"')[0] == FEATURE
    assert modify(lua, "memory", 'prefer = "a"') == (0, {"prefer": f"a&{CACHE}"})
    assert modify(lua, "spill", f'features = "{CACHE}"')[0] == FEATURE
    assert modify(lua, "memory", 'partition = "debug"', f'features = "{CACHE}"') == (0, {})


WHO = f'{FLAT}, reboot = {{ who = {{ account = {{ "physics" }}, qos = {{ "memmode", "big" }} }} }}'
RULES = f"hybridmem: nodes with {CACHE} are for jobs with account physics or qos memmode, big"


def test_a_site_says_who_may_have_cached_nodes(lua):
    for owner in ({"account": "Physics"}, {"default_account": "physics"}, {"qos": "big"}, {"default_qos": "memmode"}):
        assert submit(lua, "memory", WHO, **owner)[0] == 0, owner
        assert submit(lua, None, WHO, features=CACHE, **owner)[0] == 0, owner
    for owner in (
        {},
        {"account": "chemistry", "qos": "normal"},
        {"account": "chemistry", "default_account": "physics"},
    ):
        assert submit(lua, "memory", WHO, **owner) == (DENIED, {"features": CACHE, "user": RULES}), owner
        for own in ({"features": f"a|{CACHE}*2"}, {"prefer": CACHE}):
            assert submit(lua, None, WHO, **own, **owner) == (DENIED, {**own, "user": RULES}), owner
        assert submit(lua, "spill", WHO, **owner)[0] == 0
    users = 'reboot = { who = { user = { "alice" } } }'
    assert submit(lua, "memory", users, user_name="alice")[0] == 0
    for name in ("bob", "Alice"):
        assert submit(lua, "memory", users, user_name=name)[0] == DENIED, "users' names have capital letters"
    told = submit(lua, "memory", "reboot = { who = {} }", user_name="alice")[1]
    assert told["user"] == f"hybridmem: nodes with {CACHE} are for no job here"


def test_who_may_have_cached_nodes_holds_for_changes(lua):
    held = f'features = "{CACHE}", account = "physics", qos = "normal", user_name = "alice"'
    assert modify(lua, "memory", 'partition = "debug"', held, WHO)[0] == 0
    assert modify(lua, "memory", 'account = "chemistry"', held, WHO) == (DENIED, {"user": RULES})
    assert modify(lua, "off", f'features = "{CACHE}"', 'account = "chemistry"', WHO)[0] == DENIED


@pytest.mark.parametrize("text", ["memory", "spill"])
def test_a_site_says_how_long_jobs_wait_before_a_reboot(lua, text):
    site = f"{FLAT}, reboot = {{ delay = 3600 }}"
    for given, wanted in ((None, "3600"), (0, "3600"), (60, "3600"), (7200, "7200"), (0xFFFFFFFE, "3600")):
        field = "" if given is None else f", delay_boot = {given}"
        returned, told = call(lua, f"{site}, submit = {{ {env(text)}{field} }}")
        assert returned == 0 and told[-1] == f"delay_boot: {wanted}", given
    held = f'features = "{CACHE if text == "memory" else "memmode=flat"}"'
    assert modify(lua, text, "delay_boot = 0", held, site) == (0, {"delay_boot": "3600"})
    assert modify(lua, text, "delay_boot = 0xfffffffe", held, site) == (0, {"delay_boot": str(0xFFFFFFFE)})
    assert submit(lua, "off", site) == (0, {})


def test_a_change_of_the_constraint_does_not_end_the_wait(lua):
    """A job that had no such feature, and so no wait, may get one later."""
    site = "reboot = { delay = 3600 }"
    for changes in (f'features = "{CACHE}"', f'prefer = "{CACHE}"'):
        for held, waits in (("delay_boot = 0", "3600"), ("delay_boot = 7200", None), ("", "3600")):
            assert modify(lua, "off", changes, held, site)[1].get("delay_boot") == waits
    assert modify(lua, "off", 'features = "a"', "delay_boot = 0", site) == (0, {"features": "a"})
    held = f'features = "{CACHE}", delay_boot = 0'
    assert modify(lua, "off", 'partition = "debug"', held, site) == (0, {}), "it may be running"


def test_a_step_has_the_nodes_of_its_job(lua):
    inside = {"SLURM_JOB_ID": "7"}
    assert filtered(lua, "memory", environment=inside, type="srun", constraint="memmode=flat") == (0, {})
    assert filtered(lua, "memory", environment=inside, type="sbatch") == (0, {"constraint": CACHE})
    assert filtered(lua, "memory", type="srun", jobid="7") == (0, {}), "srun --jobid=7 in another shell"
    assert filtered(lua, "memory", type="srun", jobid="unset") == (0, {"constraint": CACHE})


def test_the_script_knows_the_mode_that_needs_a_cache():
    text = (PROJECT / "etc" / "hybridmem-constraint.lua").read_text()
    assert set(re.findall(r'mode [=~]= "(\w+)"', text)) == {"off", "memory"}


@pytest.mark.parametrize(
    ("text", "site", "features"),
    [
        ("memory", 'memmode = { flat = "memmode=flat" }', CACHE),
        ("spill", 'memmode = { flat = "memmode=flat" }', "memmode=flat"),
        ("spill", "memmode = {}", None),
        ("memory", 'memmode = { cache = "2lm" }', "2lm"),
        ("memory", "memmode = { cache = false }", None),
    ],
)
def test_a_table_of_the_sites_may_take_the_place_of_memmode(lua, text, site, features):
    """What it does not have is as without it."""
    whole = f"whole = true, {site}"
    assert submit(lua, text, whole) == (0, {"features": features} if features else {})
    assert filtered(lua, text, whole) == (0, {"constraint": features} if features else {})
    assert "Slurm takes none of" in submit(lua, "memory", "whole = true, memmode = {}", features="a*2")[1]["user"]


def test_tables_of_the_sites_may_take_the_place_of_all(lua):
    owner = 'who = { user = { "alice" } }'
    assert submit(lua, "memory", f"whole = true, reboot = {{ {owner} }}", user_name="alice") == (0, {"features": CACHE})
    assert submit(lua, "memory", f"whole = true, reboot = {{ {owner} }}", user_name="bob")[0] == DENIED
    assert submit(lua, "memory", 'whole = true, rules = { account = { a = { "fast" } } }', account="a")[0] == DENIED
    gres = submit(lua, "fsdax,size=32M", 'whole = true, pmem = { types = { "s0" } }')
    assert gres == (0, {"gres": "gres/pmem:s0:33554432"})
