# SPDX-License-Identifier: Apache-2.0
"""Packs what a guest gets besides its disk (a tar that its initrd unpacks into the root folder, before Slurm starts),
and unpacks the files that come back."""

import io
import os
import shlex
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from . import cache, machine, project

HERE = Path(__file__).resolve().parent.parent
GUEST_FILES = HERE / "guest-files"
DISKWAIT = HERE / "diskwait" / "diskwait.c"
GET_DISK_BYTES = 8 << 30  # sparse

WELCOME = """
This is node n1 of the cluster "testbed". Leave with: exit (or Ctrl-A x, which pulls the plug).
Users: alice, bob, carol (su - alice). Partitions: main, whole. Logs: /var/log/slurm.
Linux before 6.15 refuses --hybrid-mem=fsdax (site-docs/security.md says why) until root says:
    echo 'fsdax_trust = yes' >> /etc/hybridmem/hybridmem.conf

"""


def _owned_by_root(member):
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _add_text(tar, name, data, mode=0o644):
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(data), mode
    tar.addfile(member, io.BytesIO(data))


def _words(items):
    return b"".join(item.encode() + b"\0" for item in items)


def _settings(options):
    """Return the settings for testbed-init, as shell assignments."""
    shape = machine.SHAPES[options.shape]
    terminal = shutil.get_terminal_size()
    settings = {
        "mode": options.command,
        "script_timeout": options.timeout,
        "nvdimms": len(shape.nvdimm_mib),
        "kmem_at_boot": "yes" if shape.kmem_at_boot else "no",
        "meter": "yes" if options.meter else "no",
        "accounting": "yes" if options.accounting or options.nodes else "no",
        "nodes": options.nodes,
        "node_memory": machine.NODE_MIB,
        "TERM": os.environ.get("TERM", "linux"),
        "columns": terminal.columns,
        "lines": terminal.lines,
    }
    return "".join(f"{key}={shlex.quote(str(value))}\n" for key, value in settings.items())


def make(options, stage):
    """Return a temporary file with the tar for a guest: guest-files/, testbed-diskwait, the project's STAGE (or None),
    and what the command's OPTIONS ask for."""
    file = cache.nameless_file()
    diskwait = cache.compiled("testbed-diskwait", DISKWAIT, "-static")  # as the host's libc is not the guest's
    with tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for item in sorted(GUEST_FILES.iterdir()):
            tar.add(item, item.name, filter=_owned_by_root)
        tar.add(diskwait, "usr/local/sbin/testbed-diskwait", filter=_owned_by_root)
        if stage:
            with project.held(stage):
                for item in sorted(stage.iterdir()):
                    tar.add(item, item.name, filter=_owned_by_root)
        for source, target in options.put:
            tar.add(source, target.lstrip("/"), filter=_owned_by_root)
        _add_text(tar, "testbed/settings", _settings(options).encode())
        _add_text(tar, "testbed/welcome", WELCOME.encode())
        _add_text(tar, "testbed/arguments", _words(options.arguments))
        _add_text(tar, "testbed/get", _words(source.lstrip("/") for source, _ in options.get))
        if options.script:
            _add_text(tar, "testbed/script", Path(options.script).read_bytes(), 0o755)
    file.flush()
    return file


def get_disk():
    """Return a temporary file: the disk on which the guest writes a tar of the files that are to come back."""
    file = cache.nameless_file()
    file.truncate(GET_DISK_BYTES)
    return file


def unpack(file, wanted):
    """Copy files, pairs (guest's path, host's path), out of the FILE of get_disk(), after the guest's end. Return the
    paths that the guest did not have."""
    missing = []
    with tempfile.TemporaryDirectory(dir=cache.folder()) as folder:
        if wanted:
            file.seek(0)
            # GNU tar does not let members leave the folder. An empty disk is no error here: all files are then missing.
            options = ["--extract", "--no-same-owner", "--sparse", "--directory", folder]
            subprocess.run(["tar", *options], stdin=file, stderr=subprocess.DEVNULL)
        for source, target in wanted:
            copy = Path(folder) / source.strip("/")
            if copy.is_dir():
                shutil.copytree(copy, target, symlinks=True, dirs_exist_ok=True)
            elif copy.exists():
                Path(target).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(copy, target)
            else:
                missing.append(source)
    return missing
