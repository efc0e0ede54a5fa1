# SPDX-License-Identifier: Apache-2.0
"""The machines that a guest can be, and QEMU's arguments for them."""

from typing import NamedTuple

MIB = 1 << 20
GIB = 1 << 30


class Shape(NamedTuple):
    """A machine. Each socket is a NUMA node; memory-only nodes and NVDIMMs are assigned to the sockets in turn."""

    about: str
    dram_mib: tuple  # memory of each socket
    slow_mib: tuple = ()  # memory of each memory-only node
    nvdimm_mib: tuple = ()
    kmem_at_boot: bool = False  # NVDIMMs are system memory before Slurm starts
    cpus: int = 1  # per socket
    cache_mib: int = 0  # of each socket's memory, in front of it, as the firmware tells


SHAPES = {
    "optane": Shape(
        "two sockets, each with DRAM (nodes 0, 1), a slow node (2, 3) and an NVDIMM (4, 5 once it is memory)",
        dram_mib=(512, 512),
        slow_mib=(1024, 1024),
        nvdimm_mib=(1280, 1280),
    ),
    "kmem": Shape(
        "two sockets, each with DRAM and an NVDIMM that is movable memory (nodes 2, 3) before Slurm starts",
        dram_mib=(512, 512),
        nvdimm_mib=(1280, 1280),
        kmem_at_boot=True,
    ),
    "single": Shape("one node with two CPUs and one kind of memory", dram_mib=(2048,), cpus=2),
}
DEFAULT_SHAPE = "optane"

# The machines of a cluster (cluster.py): its controller, and its nodes, with the layout of their memory that the
# firmware was told. They are small, as all run on the same host.
CONTROLLER = Shape("the controller of a cluster", dram_mib=(1024,))
LAYOUTS = {
    "flat": Shape(
        "a socket with a CPU and DRAM (node 0), a slow node (1), and an NVDIMM",
        dram_mib=(512,),
        slow_mib=(1024,),
        nvdimm_mib=(640,),
    ),
    "cached": Shape(
        "a socket with a CPU and a large memory (node 0) with a cache in front of it", dram_mib=(2048,), cache_mib=512
    ),
}
DEFAULT_LAYOUT = "flat"
# What Slurm is told of a node's memory. A node may have more, whatever its layout, but not less; the kernel takes some.
KERNEL_MIB = 160
NODE_MIB = min(sum(shape.dram_mib + shape.slow_mib) for shape in LAYOUTS.values()) - KERNEL_MIB

# The firmware's figures of the memory (HMAT): latency in ns, and bandwidths of one node. They are those of real DRAM
# and Optane.
FAST = {"access-latency": 80, "read-bandwidth": "104G", "write-bandwidth": "80G"}
SLOW = {"access-latency": 300, "read-bandwidth": "39G", "write-bandwidth": "13G"}

# Distances of a real two-socket Optane system: a socket's own slow memory is nearer than the other socket's DRAM.
DISTANCE_SLOW_LOCAL, DISTANCE_DRAM_REMOTE, DISTANCE_SLOW_REMOTE = 17, 21, 28


def _distance(shape, one, other):
    sockets = len(shape.dram_mib)
    if one % sockets == other % sockets:
        return DISTANCE_SLOW_LOCAL
    return DISTANCE_DRAM_REMOTE if max(one, other) < sockets else DISTANCE_SLOW_REMOTE


def _nodes(shape):
    """Arguments for the NUMA nodes: sockets first, then memory-only nodes, then the nodes that NVDIMMs may become."""
    sockets = len(shape.dram_mib)
    sizes = shape.dram_mib + shape.slow_mib
    count = len(sizes) + len(shape.nvdimm_mib)
    for node in range(count):
        socket = node % sockets
        memory = ""
        if node < len(sizes):
            yield "-object", f"memory-backend-ram,id=ram{node},size={sizes[node]}M"
            memory = f",memdev=ram{node}"
        yield "-numa", f"node,nodeid={node},initiator={socket}{memory}"
    for socket in range(sockets):
        yield "-numa", f"cpu,node-id={socket},socket-id={socket}"
    for one in range(count):
        for other in range(one + 1, count):
            yield "-numa", f"dist,src={one},dst={other},val={_distance(shape, one, other)}"
    for target in range(len(sizes)):
        figures = FAST if target < sockets else SLOW
        for initiator in range(sockets):
            common = f"hmat-lb,initiator={initiator},target={target},hierarchy=memory"
            for name, value in figures.items():
                yield "-numa", f"{common},data-type={name},{name.rpartition('-')[2]}={value}"
    if shape.cache_mib:
        for socket in range(sockets):
            cache = f"hmat-cache,node-id={socket},size={shape.cache_mib}M,level=1"
            yield "-numa", f"{cache},associativity=direct,policy=write-back,line=64"


def _nvdimms(shape, files):
    """Arguments for the NVDIMMs, whose content is in these FILES or, without them, lost at QEMU's end. Their addresses
    are chosen here, as QEMU would misalign the second one by the label area."""
    memory = sum(shape.dram_mib + shape.slow_mib) * MIB
    low = 2 * GIB if memory >= 0xB0000000 else memory  # q35 moves memory above this to 4 GiB
    address = -(-(4 * GIB + memory - low) // GIB) * GIB
    first_node = len(shape.dram_mib + shape.slow_mib)
    for number, size in enumerate(shape.nvdimm_mib):
        kind = f"file,share=on,mem-path={files[number]}" if files else "ram"
        yield "-object", f"memory-backend-{kind},id=nvram{number},size={size}M"
        yield (
            "-device",
            (
                f"nvdimm,id=nvdimm{number},memdev=nvram{number},label-size=128K,"
                f"node={first_node + number},addr={address:#x}"
            ),
        )
        address += size * MIB


def arguments(shape, nvdimm_files=()):
    """QEMU's arguments for a machine of this shape, without the accelerator, the disks and the ports; with the paths of
    files for the content of NVDIMMs."""
    sockets = len(shape.dram_mib)
    memory = sum(shape.dram_mib + shape.slow_mib)
    room = memory + sum(shape.nvdimm_mib) + 4096
    pairs = [
        ("-machine", "q35,nvdimm=on,hmat=on,usb=off,smbus=off"),
        ("-smp", f"{sockets * shape.cpus},sockets={sockets},cores={shape.cpus},threads=1"),
        ("-m", f"{memory}M,slots=4,maxmem={room}M"),
        *_nodes(shape),
        *_nvdimms(shape, nvdimm_files),
    ]
    return [word for pair in pairs for word in pair]
