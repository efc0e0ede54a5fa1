# SPDX-License-Identifier: Apache-2.0
"""Tests libhybridmem with files on persistent memory: data that is mostly read goes there."""

import contextlib
import json
import os
import re
from pathlib import Path

import pytest
import slurm
from placing import MIB, PROGRAM, READ, SPLIT, WRITE, by_block, check, placed

pytestmark = pytest.mark.usefixtures("placed_program")


@contextlib.contextmanager
def dax_folders(tmp_path):
    """Make an fsdax namespace and an ext4 file system with DAX on each NVDIMM. Gives the mount points."""
    made, folders = [], []
    try:
        for region in sorted(json.loads(slurm.run("ndctl list -R").stdout), key=lambda row: row["dev"]):
            text = slurm.run(f"ndctl create-namespace --region={region['dev']} --mode=fsdax --size=512M").stdout
            namespace = json.loads(text)
            made.append(namespace["dev"])
            folder = tmp_path / region["dev"]
            folder.mkdir()
            device = f"/dev/{namespace['blockdev']}"
            slurm.run(f"mkfs.ext4 -q -b 4096 -m 0 {device} && mount -o dax {device} {folder}")
            folders.append(folder)
        yield folders
    finally:
        for folder in folders:
            slurm.run(f"umount {folder}")
        for name in made:
            slurm.run(f"ndctl destroy-namespace --force {name}")


def used(folder):
    status = os.statvfs(folder)
    return (status.f_blocks - status.f_bfree) * status.f_frsize


def test_read_mostly_data_goes_over_the_fsdax_files(tmp_path):
    with dax_folders(tmp_path) as folders:
        assert len(folders) == 2
        env = {"HYBRIDMEM_FSDAX_DIRS": ":".join(map(str, folders))}
        before = [used(folder) for folder in folders]
        with placed(SPLIT, 128, READ, env=env) as held:
            assert held["reason"] == ""
            assert [run["folder"] for run in held["runs"]] == [0, 1] * 32
            assert held["nodes"] == {"-1": [128 * MIB, 0]} and held["absent"] == 0
            for folder, was in zip(folders, before):
                assert 64 * MIB <= used(folder) - was < 66 * MIB
            maps = Path(f"/proc/{held['pid']}/maps").read_text()
            for folder in folders:
                assert len(re.findall(rf"rw-s .* {re.escape(str(folder))}/#\d+ \(deleted\)", maps)) == 32
        assert [used(folder) for folder in folders] == before
        assert [list(folder.glob("[!l]*")) for folder in folders] == [[], []]
        with placed(SPLIT, 32, WRITE, env=env) as held:
            check(held, 32)
            assert set(by_block(held)) == {0, 1}
        # The memory does not fit in the files: the rest is on the slow nodes.
        with placed(SPLIT, 1280, READ, env=env, touched=0) as held:
            assert "elsewhere" in held["reason"]
            assert {run["node"] for run in held["runs"]} == {-1, 2, 3}


def test_a_jobs_read_mostly_data_goes_over_its_file_systems():
    """The data that the program reads is spread in blocks over the files of both sockets; the data that it writes is
    on the fast nodes."""
    folder = slurm.folder_of("alice")
    words = {use: f"{PROGRAM} {SPLIT} {use} 64 0 0 64" for use in (READ, WRITE)}
    script = f"cd {folder}\n{words[READ]} < /dev/null > read\n{words[WRITE]} < /dev/null > written"
    job_id = slurm.sbatch("alice", script, "--hybrid-mem=fsdax,size=256M")
    assert slurm.wait_job(job_id) == "COMPLETED", slurm.output(job_id)
    read, written = (json.loads((folder / name).read_text()) for name in ("read", "written"))
    assert read["reason"] == written["reason"] == ""
    assert [(run["folder"], run["bytes"]) for run in read["runs"]] == [(0, 2 * MIB), (1, 2 * MIB)] * 16
    assert {run["folder"] for run in written["runs"]} == {-1} and set(by_block(written)) == {0, 1}


def test_a_folder_without_dax_is_not_used(tmp_path):
    with placed(SPLIT, 32, READ, env={"HYBRIDMEM_FSDAX_DIRS": str(tmp_path)}) as held:
        check(held, 32)
        assert set(by_block(held)) == {2, 3}
        assert "is not on a DAX file system" in held["reason"]
