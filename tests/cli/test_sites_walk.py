# SPDX-License-Identifier: Apache-2.0
"""Tests that stacks walked by known rules (helpers/sites/record/walk.h) are those that the unwinder finds, in programs
built in many ways (walk-probe.cc, under walk-check.c)."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
HELPERS = HERE.parents[1] / "helpers"
SOURCES = ("sites/record/cfi.c", "sites/record/cfirules.c", "sites/record/stack.c", "sites/record/walk.c")
MORE_SOURCES = ("sites/profile/buildid.c", "sites/profile/siteid.c", "sites/compile/given.c", "base/error.c")
DEADLOCK_S = 120  # a program that takes so long never ends
UNWINDER_ALONE = {"handler", "other_stack"}  # what the rules do not express

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the unwinder alone walks stacks here")

VIA = """
#include <stddef.h>
#include <stdint.h>
void via(void (*call)(void), uintptr_t filling)
{
    volatile uintptr_t frame[100];
    for (size_t i = 0; i < 100; i++)
        frame[i] = filling;
    call();
    frame[0] = frame[1];
}
"""
VIA_OF_SIZE = """
    .globl via
    .type via, @function
via:
    .cfi_startproc
    sub $SIZE, %rsp
    .cfi_adjust_cfa_offset SIZE
    mov %rdi, %rdx
    mov %rsi, %rax
    mov %rsp, %rdi
    mov $SIZE / 8, %ecx
    rep stosq
    call *%rdx
    add $SIZE, %rsp
    .cfi_adjust_cfa_offset -SIZE
    ret
    .cfi_endproc
    .size via, . - via
    .section .note.GNU-stack,"",@progbits
"""


def build(output, *words, compiler="gcc", **more):
    subprocess.run([compiler, "-g1", "-Wall", "-Werror", "-o", output, *words], check=True, **more)
    return output


def library(output, *words, **more):
    return build(output, "-shared", "-fPIC", *words, **more)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Has the library that walks in both ways, and those that the program loads."""
    path = tmp_path_factory.mktemp("walk")
    sources = [HERE / "walk-check.c", *(HELPERS / name for name in SOURCES + MORE_SOURCES)]
    library(path / "check.so", "-O2", "-D_GNU_SOURCE", "-static-libgcc", f"-I{HELPERS}", *sources, "-ldl")
    for size in (24, 56):
        words = (f"-Wa,--defsym,SIZE={size}", "-Wl,-soname,via", "-x", "assembler", "-")
        library(path / f"via{size}.so", *words, input=VIA_OF_SIZE, text=True)
    for pointers in ("omit", "no-omit"):
        words = ("-O2", f"-f{pointers}-frame-pointer", "-x", "c", "-")
        library(path / f"{pointers}.so", *words, input=VIA, text=True)
    return path


def run(folder, *words):
    environment = {**os.environ, "LD_PRELOAD": str(folder / "check.so"), "WALK_CHECK": "1"}
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=True, timeout=DEADLOCK_S)


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize(
    ("level", "pointers", "other"), [("-O0", "no-omit", "omit"), ("-O2", "omit", "no-omit"), ("-O3", "no-omit", "omit")]
)
def test_the_frames_are_those_of_the_unwinder(folder, tmp_path, compiler, level, pointers, other):
    words = ("-std=gnu++17", level, f"-f{pointers}-frame-pointer", "-pthread", HERE / "walk-probe.cc", "-ldl")
    probe = build(tmp_path / "probe", *words, compiler=compiler)
    done = run(folder, probe, folder / f"{other}.so", folder / "via24.so", folder / "via56.so")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert len(lines) == 2 * 18
    for kind, *counts in lines:
        walks, by_rules, differ = map(int, counts)
        assert walks > 0 and differ == 0, (kind, done.stderr)
        if kind in UNWINDER_ALONE:
            assert by_rules == 0, kind
        else:
            assert by_rules == walks, kind


def test_an_interpreter(folder):
    done = run(folder, sys.executable, "-c", "import decimal, json, sqlite3, ssl")
    walks, by_rules, differ = map(int, done.stderr.split()[-5::2])
    assert walks > 1000 and by_rules > 0.9 * walks and differ == 0, done.stderr
