# SPDX-License-Identifier: Apache-2.0
"""Root trees and disk images of the Debian releases that the tests use."""

from pathlib import Path
from typing import NamedTuple

from . import cache, command

RECIPE = Path(__file__).resolve().parent.parent / "recipe"


class Release(NamedTuple):
    slurm: str
    lists: tuple  # lists of packages; a release with "guest" is also for nodes' disks, the others for builds only


RELEASES = {
    "bookworm": Release("22.05", ("build",)),
    "trixie": Release("24.11", ("build", "guest", "cluster", "usual")),
    "forky": Release("26.05", ("build", "guest", "cluster")),
}
DEFAULT_SLURM = "24.11"
GUEST_SLURMS = [release.slurm for release in RELEASES.values() if "guest" in release.lists]


def release_of_slurm(slurm):
    return next(name for name, release in RELEASES.items() if release.slurm == slurm)


def root_tree(release, *more):
    """Return the path of a root tree of the release, made when needed; with the packages of MORE lists."""
    lists = RELEASES[release].lists + more
    key = cache.digest(*lists, RECIPE / "make-root", *(RECIPE / f"packages.{name}" for name in lists))

    def build(new):
        command.say(f"making the Debian {release} root tree (once, about a minute)")
        cache.as_root_contained("--mount-proc", RECIPE / "make-root", release, new, *lists)

    return cache.make(cache.folder() / "roots" / f"{release}-{key}", build)


def disk(release, codes=False):
    """Return the folder with disk.ext4, vmlinuz and initrd of the release, made when needed; with the real
    programs where wanted."""
    root = root_tree(release, *(("codes",) if codes else ()))
    key = cache.digest(root.name, RECIPE / "make-image", RECIPE / "initrd-init")

    def build(new):
        command.say(f"making the disk image of {release}")
        cache.as_root(RECIPE / "make-image", root, new)

    return cache.make(cache.folder() / "images" / f"{release}-{key}", build)
