# SPDX-License-Identifier: Apache-2.0
"""Tests bad requests and configurations: a command ends with status 2 (`hybridmem config check` with 1), and prints
exactly the line that a table below has for the request or configuration."""

import pytest
from installed import helper

MODES = (
    "use off, fast, slow, dram, pmem, cxl, hbm, interleave, spill, isolate, migrate, profile, guided, fsdax or memory"
)
KEYS = "takes socket"
EMPTY = "a part after a comma is empty: write MODE or MODE,KEY=VALUE"

# REQUEST: the message after "--hybrid-mem=REQUEST: "
REQUESTS = {
    "": f"the mode is empty: {MODES}",
    ",": f"the mode is empty: {MODES}",
    ",spill": f"the mode is empty: {MODES}",
    "spil": f'unknown mode "spil": {MODES}',
    "SPILL": f'unknown mode "SPILL": {MODES}',
    "spill ": f'unknown mode "spill ": {MODES}',
    "spill;socket=all": f'unknown mode "spill;socket=all": {MODES}',
    "spill=yes": f'unknown mode "spill=yes": {MODES}',
    "default": f'unknown mode "default": {MODES}',
    "none": f'unknown mode "none": {MODES}',
    "1": f'unknown mode "1": {MODES}',
    "--help": f'unknown mode "--help": {MODES}',
    "fast=1": f'unknown mode "fast=1": {MODES}',
    "spill socket=all": f'unknown mode "spill socket=all": {MODES}',
    "../../etc/passwd": f'unknown mode "../../etc/passwd": {MODES}',
    "%s%n": f'unknown mode "%s%n": {MODES}',
    "spill,": EMPTY,
    "off,": EMPTY,
    "spill,,socket=all": EMPTY,
    "spill,socket": "socket wants a value: write socket=local, remote or all",
    "spill,socket=": 'socket wants local, remote or all, not ""',
    "fast,socket=up": 'socket wants local, remote or all, not "up"',
    "fast,socket=Local": 'socket wants local, remote or all, not "Local"',
    "spill,socket=all,socket=all": "socket is there twice: write it once",
    "spill,sockets=all": f'unknown key "sockets": spill {KEYS}',
    "fast,slow": f'unknown key "slow": fast {KEYS}',
    "off,socket=all": 'off takes no key, and here is "socket": write off alone',
    "migrate,rate=1": 'rate wants bytes per second, at least 1M, digits and K, M, G or T, as in 200M, not "1"',
    "migrate,source=ibs": 'source wants one of auto, perf, clock, damon, idle, faults, not "ibs"',
    "migrate,interval=10": 'interval wants a time of 100ms to 24h, digits and ms, s, min or h, as in 10s, not "10"',
    "migrate,speed=1": 'unknown key "speed": migrate takes socket, fast, period, interval, bins, algorithm, source, '
    "overhead, rate or hot-by",
    "isolate,rate=1": 'rate wants bytes per second, at least 1M, digits and K, M, G or T, as in 200M, not "1"',
    "isolate,hot-by=reads": 'hot-by wants accesses or writes, not "reads"',
    "isolate,period": "period wants a value: write period=65536",
    "spill,fast=10%": 'spill takes no key "fast": it belongs to isolate, migrate, guided',
    "spill,rate=100": 'spill takes no key "rate": it belongs to isolate, migrate, profile, guided',
    "profile,input=a/b": "input wants a word of 1 to 31 letters, digits, dots, - or _ that begins with a letter or "
    'digit, not "a/b"',
    "fsdax": "fsdax wants a size: write fsdax,size=200G",
    "fsdax,size=1": 'size wants a size of 32M to 1024T, digits and K, M, G or T, as in 200G, not "1"',
    "fsdax,size=1G,keep=1": "keep takes no value: write fsdax,size=200G,keep",
    "spill,keep": 'spill takes no key "keep": it belongs to fsdax',
    "memory,socket=local": 'memory takes no key, and here is "socket": write memory alone',
    "spill,size=1G": 'spill takes no key "size": it belongs to fsdax',
}

# What is typed: the line after "--hybrid-mem=", which begins with the request as it is shown
ESCAPED = {
    "spill\t": f'spill\\t: unknown mode "spill\\t": {MODES}',
    "a\x1b[2J": f'a\\x1b[2J: unknown mode "a\\x1b[2J": {MODES}',
    "ä": f'\\xc3\\xa4: unknown mode "\\xc3\\xa4": {MODES}',
    "a\nb": f'a\\nb: unknown mode "a\\nb": {MODES}',
    "x" * 300: "x" * 48 + "...: 300 characters are too many: write at most 255",
}

GRAMMAR = 'write WORD = VALUE, WORD = { VALUE, VALUE } or SECTION "TITLE" { ... }'
TOP = (
    "use enabled, record, record_dir, record_group, state_dir, run_dir, cluster, interval, reserve, reap_grace, "
    "log_level, modes, migrate, fair_share, lend_samples, profile_dir, load, fsdax_fs, fsdax_map, fsdax_trust, "
    "fsdax_wipe_limit, fsdax_keep_share, fsdax_keep_quota, fsdax_keep_age, ram, resctrl, resctrl_dir, meter_programs, "
    "spool_dir, summary_field, summary_rate, collect_wait, memmode_mixed, memmode_least, reboot_program, tier, "
    "channels, redfish, board, user, group, account, partition or qos"
)
ODD = "has no place here: comments start with #, values that are not plain words stand in quotes"

# TEXT: the message after "FILE:"
CONFIGURATIONS = {
    "enabld = yes\n": f'1: unknown word "enabld": {TOP}',
    "# a\n# b\n\nfoo = 1\n": f'4: unknown word "foo": {TOP}',
    'tier "a" {\n speed = 1\n}\n': '2: unknown word "speed": '
    "use nodes, kind, read_latency, read_bandwidth, write_bandwidth, static_power, read_energy or write_energy",
    'user "a" { default_mode = spill }\n': '1: unknown word "default_mode": use modes',
    "enabled yes\n": f"1: missing equal sign after option 'enabled': {GRAMMAR}",
    "enabled =\n": f"2: premature end of file: {GRAMMAR}",
    "}\n": f"1: unexpected closing brace: {GRAMMAR}",
    "\ntier { }\n": f"2: missing title for section 'tier': {GRAMMAR}",
    "modes = { spill fast }\n": f"1: unexpected token 'fast': {GRAMMAR}",
    "\n\nmodes = {\n spill,\n": "3: the { of this line is not closed: end it with }",
    'user "a" { modes = {} }\n': "1: the list { } is empty: name at least one",
    'group "a" { }\n': '1: group "a": the section says nothing: give modes',
    'record_dir = "${HOME}"\n': "1: '$' has no place in a value: the environment is not read, and there are no escapes",
    "record_dir = ${HOME}\n": f"1: '$' (0x24) {ODD}",
    'include("/etc/passwd")\n': f"1: '(' (0x28) {ODD}",
    "enabled = yes\r\n": f"1: '?' (0x0d) {ODD}",
    "enabled\0 = yes\n": f"1: '?' (0x00) {ODD}",
    'cluster = "a\n': '1: the string that starts with "a\\n is not closed on its line',
    'cluster = "\xe4"\n': "1: the value has a byte 0xe4: write values in printable ASCII",
    "enabled = yes\nenabled = no\n": "2: enabled: it is there twice: write it once",
    'user "a" { modes = fast }\nuser "a" { modes = slow }\n': '2: a second section with the title "a": '
    "put both into one",
    "enabled = perhaps\n": '1: enabled: "perhaps" is not one of its values: use yes or no',
    "\n\nrecord = some\n": '3: record: "some" is not one of its values: use requested or all',
    "record_dir = relative/path\n": '1: record_dir: "relative/path" is a relative path: write it from / on',
    "run_dir = /run/../etc\n": '1: run_dir: "/run/../etc" goes through ..: write the path without it',
    "interval = 0s\n": '1: interval: "0s" is out of range: use 10 to 3600000 ms',
    "interval = 1\n": '1: interval: "1" has no unit: write ms, s, min or h after it, as in 10s',
    "fsdax_keep_share = 200%\n": '1: fsdax_keep_share: "200%" is more than 100%',
    "fsdax_keep_age = 0s\n": '1: fsdax_keep_age: "0s" is out of range: use 60 to 31622400 whole seconds',
    "reserve = 200%\n": '1: reserve: "200%" is more than 100%',
    "reserve = 2\n": '1: reserve: "2" is not a percentage: write a number and %, as in 2.5%',
    'user "alice" { modes = { warp } }\n': f'1: user "alice": modes: --hybrid-mem=warp: unknown mode "warp": {MODES}',
    'partition "main" { default_mode = "spil" }\n': '1: partition "main": default_mode: '
    f'--hybrid-mem=spil: unknown mode "spil": {MODES}',
    'tier "dram" { nodes = "0-" }\n': '1: tier "dram": nodes: "0-": "0-" is not a number or range of 0 to 8191; '
    "write a list like 0-3,8",
    'tier "dram" { read_bandwidth = 10G }\n': '1: tier "dram": read_bandwidth: "10G" is not '
    "a number of 1 to 1000000000",
    'tier "a" { nodes = 0-1 }\ntier "b" { nodes = 1 }\n': '2: tier "b": nodes: node 1 is in tier "a" too: '
    "a node is in one tier",
    'channels "fast+slow" { kind = both }\n': '1: channels "fast+slow": kind: "both" is not one of its values: '
    "use shared or separate",
    'channels "dram" { kind = shared }\n': '1: channels "dram": "dram" is not a pair of tiers: '
    'write two names or kinds of tiers, as in "dram+cxl"',
}


@pytest.mark.parametrize("request_text", REQUESTS)
def test_request(request_text):
    done = helper("hybridmem-plan", "--", request_text, status=2)
    assert done.stderr == f"hybridmem plan: --hybrid-mem={request_text}: {REQUESTS[request_text]}\n"
    assert done.stdout == ""


@pytest.mark.parametrize("request_text", ESCAPED)
def test_request_with_odd_bytes(request_text):
    done = helper("hybridmem-plan", "--json", "--", request_text, status=2)
    assert (done.stdout, done.stderr) == ("", f"hybridmem plan: --hybrid-mem={ESCAPED[request_text]}\n")


@pytest.mark.parametrize("text", CONFIGURATIONS)
def test_configuration(configure, text):
    path = configure(text)
    line = f"{path}:{CONFIGURATIONS[text]}\n"
    done = helper("hybridmem-config", "check", "--file-only", "--config", path, status=1)
    assert (done.stdout, done.stderr) == (f"change  {line}", "")
    done = helper("hybridmem-config", "show", "--config", path, status=2)
    assert (done.stdout, done.stderr) == ("", f"hybridmem config: {line}")
    done = helper("hybridmem-plan", "spill", "--config", path, status=2)
    assert (done.stdout, done.stderr) == ("", f"hybridmem plan: {line}")


def test_the_tables_have_at_least_40_rows():
    assert len(REQUESTS) + len(ESCAPED) + len(CONFIGURATIONS) >= 40
