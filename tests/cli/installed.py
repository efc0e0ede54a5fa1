# SPDX-License-Identifier: Apache-2.0
"""The installed tree under test: HYBRIDMEM_PREFIX names it."""

import json
import os
import subprocess
from pathlib import Path

import pytest

PREFIX = Path(os.environ["HYBRIDMEM_PREFIX"])
LIBEXEC = PREFIX / "libexec" / "hybridmem"
DATA = PREFIX / "share" / "hybridmem"
# What a build with sanitizers is told of leaks in other libraries
LEAKS = {"LSAN_OPTIONS": f"suppressions={Path(__file__).parents[1] / 'lib' / 'leaks.supp'}:print_suppressions=0"}
os.environ.update(LEAKS)

has_ndctl = (LIBEXEC / "hybridmem-namespace").exists()
has_memmode = (LIBEXEC / "hybridmem-memmode").exists()
has_papi = (LIBEXEC / "hybridmem-papi").exists()
has_llvm = (PREFIX / "bin" / "hybridmem-cc").exists()
has_slurmenergy = (LIBEXEC / "hybridmem-slurmenergy").exists()
needs_llvm = pytest.mark.skipif(not has_llvm, reason="hybridmem-cc: built --without-llvm")
needs_memmode = pytest.mark.skipif(not has_memmode, reason="hybridmem-memmode: built --without-memmode")
needs_papi = pytest.mark.skipif(not has_papi, reason="hybridmem-papi: built --without-papi")
needs_slurmenergy = pytest.mark.skipif(not has_slurmenergy, reason="hybridmem-slurmenergy: built without libslurm")
needs_ndctl = pytest.mark.skipif(not has_ndctl, reason="hybridmem-namespace: built --without-ndctl")


def helper(name, *words, status=0, env=None, **options):
    """Runs a program of libexec and checks its exit status. The environment has only LC_ALL, LEAKS and what `env`
    names."""
    command = [str(LIBEXEC / name), *map(str, words)]
    env = {"LC_ALL": "C.UTF-8", **LEAKS, **(env or {})}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, **options)
    assert done.returncode == status, f"{command} gave {done.returncode}:\n{done.stdout}{done.stderr}"
    return done


def check_root():
    """Fails the test unless root runs it. If it were skipped, nobody would notice."""
    if os.geteuid() != 0:
        pytest.fail("this test wants root, as all of tests/check does")


def with_mounts(script, *words):
    """The words of a command that runs after a shell script, in a mount namespace of its own: what the script mounts is
    there for this command only."""
    return ["unshare", "--mount", "sh", "-ec", f'{script}\nexec "$@"', "sh", *words]


def modes():
    """The modes of --hybrid-mem= from the program: a list of objects."""
    return json.loads(helper("hybridmem-plan", "--modes", "--json").stdout)["modes"]
