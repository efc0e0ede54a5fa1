"""Build the project of this working tree in a release's root tree."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

from . import cache, image

CHECKOUT = Path(__file__).resolve().parents[3]
CONFIGURE = ("--prefix=/usr", "--sysconfdir=/etc", "--localstatedir=/var", "--libdir=/usr/lib/x86_64-linux-gnu",
             "--libexecdir=/usr/libexec", "--with-slurm=/usr", "--enable-werror")

# Files "wanted" and "configured" hold digests of autotools' sources: automake's own rules cannot add what a first
# Makefile.am of some kind needs, so we start over where they differ.
# In a mount namespace of its own, so that no mount is left behind. $1: root tree, $2: build folder, the rest: targets.
IN_CHROOT = r"""
set -e
root=$1 work=$2
shift 2
mount --make-rprivate /
mount --bind "$work" "$root/mnt"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
exec chroot "$root" /bin/bash -ec '
    export LC_ALL=C.UTF-8 HOME=/mnt
    cd /mnt/src
    if ! cmp -s /mnt/wanted /mnt/configured; then
        autoreconf -fi
        mkdir -p /mnt/build && cd /mnt/build
        ../src/configure %s
        cp /mnt/wanted /mnt/configured
    fi
    cd /mnt/build
    make -j2
    [ $# -eq 0 ] || make -j2 "$@"
    rm -rf /mnt/stage && mkdir /mnt/stage
    make install DESTDIR=/mnt/stage
' chroot "$@"
""" % " ".join(CONFIGURE)


class Failure(Exception):
    """The project does not build; the text is for the user."""


def _files():
    """The working tree as git sees it, with what is not committed and without what is ignored."""
    output = subprocess.run(["git", "-C", CHECKOUT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            check=True, capture_output=True).stdout
    names = {os.fsdecode(name) for name in output.split(b"\0") if name}
    return {name for name in names if os.path.lexists(CHECKOUT / name)}


def _copy(target):
    """Bring TARGET up to date with the working tree; what is the same keeps its time, so that make stays quick."""
    listing = target.with_name("files")
    names = _files()
    for name in set(listing.read_text().splitlines() if listing.exists() else ()) - names:
        (target / name).unlink(missing_ok=True)
    for name in sorted(names):
        source, copy = CHECKOUT / name, target / name
        state = source.lstat()
        if copy.is_symlink() or not copy.exists() or (copy.stat().st_size, copy.stat().st_mtime_ns) != (
                state.st_size, state.st_mtime_ns):
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.unlink(missing_ok=True)
            shutil.copy2(source, copy, follow_symlinks=False)
    listing.write_text("".join(f"{name}\n" for name in sorted(names)))
    recipe = [name for name in sorted(names) if name.endswith((".ac", ".am", ".m4"))]
    target.with_name("wanted").write_text(cache.digest(*recipe, *(CHECKOUT / name for name in recipe)))


def stage(release, targets=()):
    """Build the working tree, also TARGETS, and install it; return the staging folder, or None without a project."""
    if not (CHECKOUT / "configure.ac").exists():
        cache.say("there is no configure.ac yet: going on without the project")
        return None
    root = image.root_tree(release)
    work = cache.folder() / "build" / f"{root.name}-{cache.digest(str(CHECKOUT))}"
    work.mkdir(parents=True, exist_ok=True)
    log = work / "log"
    with cache.lock(f"build-{work.name}", f"waiting for another build for {release}"):
        _copy(work / "src")
        cache.say(f"building the project for {release}")
        prefix = [] if os.geteuid() == 0 else ["sudo"]
        command = [*prefix, "unshare", "--mount", "--pid", "--fork", "bash", "-c", IN_CHROOT, "build", root, work, *targets]
        with open(log, "w") as output:
            status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT).returncode
    if status:
        sys.stderr.write(log.read_text(errors="replace")[-6000:])
        raise Failure(f"the project does not build for {release}: see {log}")
    return work / "stage"
