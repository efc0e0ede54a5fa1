# SPDX-License-Identifier: Apache-2.0
"""Root trees and disk images of the Debian releases that the tests use."""

from pathlib import Path
from typing import NamedTuple

from . import cache, command

RECIPE = Path(__file__).resolve().parent.parent / "recipe"


class Release(NamedTuple):
    slurm: str
    kind: str  # "guest": for a node's disk, and for builds; "build": for builds only


RELEASES = {
    "bookworm": Release("22.05", "build"),
    "trixie": Release("24.11", "guest"),
    "forky": Release("26.05", "guest"),
}
DEFAULT_SLURM = "24.11"
GUEST_SLURMS = [release.slurm for release in RELEASES.values() if release.kind == "guest"]


def release_of_slurm(slurm):
    return next(name for name, release in RELEASES.items() if release.slurm == slurm)


def root_tree(release):
    """Return the path of a root tree of the release, made when needed."""
    kind = RELEASES[release].kind
    lists = [RECIPE / f"packages.{name}" for name in ("build", "guest") if name in ("build", kind)]
    key = cache.digest(kind, RECIPE / "make-root", *lists)

    def build(new):
        command.say(f"making the Debian {release} root tree (once, about a minute)")
        cache.as_root_contained("--mount-proc", RECIPE / "make-root", release, new, kind)

    return cache.make(cache.folder() / "roots" / f"{release}-{key}", build)


def disk(release):
    """Return the folder with disk.ext4, vmlinuz and initrd of the release, made when needed."""
    root = root_tree(release)
    key = cache.digest(root.name, RECIPE / "make-image", RECIPE / "initrd-init")

    def build(new):
        command.say(f"making the disk image of {release}")
        cache.as_root(RECIPE / "make-image", root, new)

    return cache.make(cache.folder() / "images" / f"{release}-{key}", build)
