# SPDX-License-Identifier: Apache-2.0
"""Tests `hybridmem namespace provision` on the guest's two NVDIMMs, of which the second has no labels, as it comes from
the factory."""

import pytest
import slurm
from namespaces import MIB, create, destroy, foreign, namespace, region_without_labels, seen

pytestmark = pytest.mark.usefixtures("steps", "empty_regions")

RAM = 64  # MiB
ALIGN = "/sys/bus/nd/devices/region1/align"  # without labels the region's size is no multiple of its usual alignment


@pytest.fixture
def unlabelled():
    with region_without_labels():
        yield


def provision(*flags, status=0, **options):
    return namespace(" ".join(["provision", *flags]), status=status, **options)


def steps(done):
    """What is printed of region 1."""
    return [line for line in done.stdout.splitlines() if line.startswith("region1 ")]


def test_new_memory_is_made_ready_for_jobs(unlabelled):
    planned = provision(ram=f"{RAM}M")
    assert steps(planned) == [
        "region1 on socket 1: initialise the label areas of nmem1: what is in the region is lost",
        "region1 on socket 1: make a devdax namespace of 64.0 MiB, for 'hybridmem namespace ram online'",
    ]
    assert planned.stdout.endswith("Nothing was changed: --apply does it.\n")
    assert "has no labels" in create(40, RAM, "1", status=1).stderr

    done = provision("--apply", ram=f"{RAM}M", sockets="1")
    assert [line.split(": ", 1)[1].split()[0] for line in steps(done)] == ["initialised", "made"]
    (memory,) = [one for one in seen() if one["mode"] == "devdax"]
    assert memory["name"] == "hybridmem-ram" and memory["align"] == 2 * MIB and memory["size"] <= RAM * MIB
    create(40, RAM, "1")
    destroy(40)
    assert provision(ram=f"{RAM}M", sockets="1").stdout.endswith("Nothing is to be done.\n")
    assert "ready, " in provision("--apply", ram=f"{RAM}M", sockets="1").stdout
    assert "--ram asks for 128.0 MiB" in provision(ram="128M", sockets="1", status=1).stderr
    slurm.run(f"ndctl destroy-namespace -f {memory['dev']}")


@pytest.mark.parametrize(
    ("prepare", "said", "status"),
    [
        ("mkfs.ext4 -q /dev/pmem1", "which is the whole region, has data (ext4)", 1),
        ("mkfs.ext4 -q /dev/pmem1 && mount /dev/pmem1 /mnt", "is in use: /dev/pmem1", 3),
        (
            f"echo {2 * MIB} > {ALIGN} && ndctl create-namespace -f --no-autolabel -e namespace1.0 -m fsdax",
            "is set up (fsdax, ",
            3,
        ),
    ],
)
def test_what_may_be_data_is_not_touched(unlabelled, prepare, said, status):
    slurm.run(prepare)
    try:
        assert said in provision("--apply", status=status).stderr
        assert "region1 has no labels" in create(41, RAM, "1", status=1).stderr
    finally:
        slurm.run("umount -q /mnt; wipefs -qa /dev/pmem1; ndctl destroy-namespace -f namespace1.0", check=False)


def test_sockets_without_a_region_are_refused():
    assert "no region is on these sockets" in provision(sockets="7", status=1).stderr
    with foreign("theirs", "region0"):
        assert "ready, " in provision(sockets="0").stdout
