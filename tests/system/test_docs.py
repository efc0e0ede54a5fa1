# SPDX-License-Identifier: Apache-2.0
"""Runs those commands in the guides which need Slurm, each as the user that the guide shows."""

import sys
from pathlib import Path

import pytest
import slurm

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import docblocks
import readhelpers

GUEST = list(docblocks.runs("guest"))


def again(run, command):
    """Run a command. `hybridmem show` is repeated, for a limited time, until it succeeds: a job's record comes a moment
    after the job's end. Returns the output and the exit status."""
    if not command.startswith("hybridmem show"):
        return run(command)
    return slurm.wait_for(lambda: (found := run(command))[1] == 0 and found, command)


def shell_of(user, folder, text):
    """The shell for a block: a login shell, which takes a second or two, only where the block needs modules."""
    if "module " not in text:
        identity = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"] if user != "root" else []
        return docblocks.Shell([*identity, "bash"], folder, slurm.identity(user)["env"] if identity else None)
    shell = docblocks.Shell(["runuser", "-l", user], folder)
    shell.run("module use /usr/share/hybridmem/modulefiles")
    return shell


@pytest.mark.parametrize(("block", "files"), GUEST, ids=[block.name() for block, _ in GUEST])
def test_commands_of_the_guides(tmp_path, block, files):
    user = block.words[0].split()[-1]
    folder = tmp_path if user == "root" else slurm.folder_of(user)
    for name, text in files.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    if "report" in block.text and not any(slurm.record_lines(word=b'"user":"alice"')):
        slurm.wait_job(slurm.sbatch("alice", "true", "--hybrid-mem=spill"))
        slurm.wait_idle()
    shell = shell_of(user, folder, block.text)
    try:
        docblocks.play(block, shell, again)
    finally:
        shell.close()


@pytest.mark.slurm26
def test_slurm_26_reads_both_forms_of_the_guides_helpers_conf(tmp_path):
    assert [readhelpers.read(tmp_path, form) for form in ("22.05", "24.11")] == [readhelpers.WHOLE] * 2
