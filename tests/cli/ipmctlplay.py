# SPDX-License-Identifier: Apache-2.0
"""Plays a made-up platform to the real ipmctl: two Optane modules of 126 GiB on one socket, which has 32 GiB of DRAM.

ipmctl can replay a recording of the platform's tables (ACPI's NFIT, PCAT and PMTT, SMBIOS) and of each reply of the
modules' firmware. A recording serves one command, as it takes the replies strictly in order: it stops with an error
where the command asks for something else. So the order of the calls, below, is what ipmctl's own log (-v) shows.

Goals for Memory Mode can be set. Those for App Direct end in Error 188 for a module, with exit status 0: the modules
have no labels then.
"""

import struct
from dataclasses import dataclass, replace

GIB = 1 << 30
CAPACITY = 126 * GIB
DRAM = 16 * GIB  # of each of two DIMMs
HANDLES = {0x01: 0x11111111, 0x11: 0x22222222}  # handle of each module: its serial number

# The command lines that can be played.
COMMANDS = {
    "resources": "show -o nvmxml -u B -memoryresources",
    "goal": "show -o nvmxml -u B -goal",
    "abilities": "show -a -o nvmxml -u B -system -capabilities",
    "modules": "show -o nvmxml -u B -dimm",
    "flat": "create -f -o nvmxml -u B -goal PersistentMemoryType=AppDirect",
    "cache": "create -f -o nvmxml -u B -goal MemoryMode=100",
    "mixed": "create -f -o nvmxml -u B -goal MemoryMode=50 PersistentMemoryType=AppDirect",
    "delete": "delete -o nvmxml -goal",
}

WITH_APP_DIRECT = ("flat", "mixed")  # creations that ask for the modules' labels

# Calls of the firmware: (opcode, sub-opcode).
IDENTIFY, SECURITY, OPTIONS, PARTITIONS = (0x01, 0x00), (0x02, 0x00), (0xFD, 0x03), (0x06, 0x02)
GET_DATA, SET_DATA, HEALTH, CLOCK = (0x06, 0x01), (0x07, 0x01), (0x08, 0x00), (0x01, 0x01)
STATUS, DEVICE, LABELS = (0x08, 0x05), (0x04, 0x03), (0x06, 0xCA)
FIRST = [IDENTIFY, OPTIONS, IDENTIFY, PARTITIONS, GET_DATA, GET_DATA, SECURITY]  # of every command, for each module


@dataclass(frozen=True)
class Platform:
    """What the platform is like. `cached`: in Memory Mode; `mixed`: half of each module is; `unused`: the modules are
    in no mode; `goal`: a goal for Memory Mode is pending."""

    cached: bool = False
    mixed: bool = False
    unused: bool = False
    goal: bool = False
    configures: bool = True  # the firmware takes goals
    allows_cache: bool = True
    ill: bool = False  # the second module is in a critical state


def sign(name):
    return struct.unpack("<I", name.encode())[0]


def table(name, body, revision):
    """A table with ACPI's header, whose bytes add up to 0."""
    head = struct.pack("<4sIBB6sQIII", name, 36 + len(body), revision, 0, b"HYBRID", 1, 1, 1, 1)
    checksum = -sum(head + body) & 0xFF
    return head[:9] + bytes([checksum]) + head[10:] + body


def nfit():
    guid = bytes.fromhex("79d3f066f3b47440ac430d3318b78cdb")  # persistent memory
    body = bytes(4)
    body += struct.pack("<HHHHII16sQQQ", 0, 56, 1, 0, 0, 0, guid, 0x1840000000, CAPACITY * len(HANDLES), 0x8008)
    for index, (handle, serial) in enumerate(HANDLES.items(), 1):
        body += struct.pack(
            "<HHIHHHHQQQHHHH", 1, 48, handle, 0x1F + index, 0, 1, index, CAPACITY, 0, 0, 0, len(HANDLES), 0, 0
        )
        ids = struct.pack("<HHHHHHHBBHHI", index, 0x8980, 0x4151, 0, 0x8980, 0x097A, 0x18, 1, 0xA2, 0x1319, 0, serial)
        body += struct.pack("<HH", 4, 80) + ids + struct.pack("<HH", 0x0301, 0) + bytes(48)
    body += struct.pack("<HHB3xII", 7, 16, 1, 3, 0)
    return table(b"NFIT", body, 1)


def pcat(platform):
    total, cache = (252, 32) if platform.cached or platform.mixed else (284, 0)
    mode = (
        platform.cached | platform.mixed | 4 | 16 * platform.allows_cache
    )  # the mode now; App Direct; what the firmware allows
    body = bytes(4)
    body += struct.pack("<HHBBBHIB2x", 0, 16, platform.configures, 0x17, mode, 0x21, 0, 0)
    body += struct.pack("<HHB3xHHHHI", 1, 20, 3, 27, 0x0101, 0x21, 1, 0x3F | 1 << 16)
    body += struct.pack("<HHHHQQQ", 6, 32, 0, 0, 4096 * GIB, total * GIB, cache * GIB)
    return table(b"PCAT", body, 0x12)


def pmtt():
    return table(
        b"PMTT",
        bytes(4) + b"".join(struct.pack("<BBHHHHHII", 2, 0, 20, 2, 0, 0, 0, DRAM >> 20, 0x10 + i) for i in range(2)),
        1,
    )


def smbios():
    """Memory devices (type 17): two DIMMs of DRAM and the modules, then the end (type 127)."""
    devices = [(0x10, "CPU1_DIMM_A1", DRAM, 3), (0x11, "CPU1_DIMM_B1", DRAM, 3)]
    devices += [(0x20 + index, "CPU1_DIMM_A2", CAPACITY, 4) for index in range(len(HANDLES))]
    out = b""
    for handle, place, size, technology in devices:
        body = struct.pack(
            "<HHHHHBBBBBHHBBBBB", 0x1000, 0xFFFE, 72, 64, 0x7FFF, 9, 0, 1, 2, 0x1A, 0x80, 2666, 3, 4, 5, 6, 1
        )
        body += struct.pack("<IHHHHBHBHHHHQQQQ", size >> 20, 2666, *[1200] * 3, technology, 8, 0, 0x8980, *[0] * 7)
        texts = (place, "NODE 0", "Intel", "0123", "A", "PN")
        out += struct.pack("<BBH", 17, 4 + len(body), handle) + body
        out += b"".join(text.encode() + b"\0" for text in texts) + b"\0"
    out += struct.pack("<BBHxx", 127, 4, 0x7FFF)
    return struct.pack("<QBB", len(out), 2, 3) + out + bytes(6)


def configuration(platform):
    """A module's configuration data: its use now, and the goal. A goal without App Direct is for Memory Mode."""
    parts = [table(b"CCUR", struct.pack("<HHQQ", 1, 0, *use(platform)), 0x12)]
    if platform.goal:
        parts.append(table(b"CIN_", struct.pack("<I8xHHIQ", 1, 4, 16, 0, 0), 0x12))
    places, body = [], b""
    for part in parts:
        places += [len(part), 128 + len(body)]
        body += part + bytes(-len(part) % 128)
    places += [0] * (6 - len(places))
    return table(b"DMHD", struct.pack("<6I", *places), 0x12).ljust(128, b"\0") + body


def label_index(sequence, place, other):
    """An index of the area for labels, none of which is in use. Its bytes have Fletcher's checksum."""
    head = struct.pack("<16s3xBIQQQQIHH", b"NAMESPACE_INDEX", 1, sequence, place, 256, other, 512, 510, 1, 2)
    free = (b"\xff" * 63 + b"\x3f").ljust(184, b"\0")
    low = high = 0
    for (word,) in struct.iter_unpack("<I", head + bytes(8) + free):
        low = low + word & 0xFFFFFFFF
        high = high + low & 0xFFFFFFFF
    return head + struct.pack("<II", low, high) + free


def pieces(data):
    return [data[at : at + 128] for at in range(0, len(data), 128)]


def reads(command, platform):
    """What a module answers to the command's reads of its data, in order. The first two ask for the size. To create a
    goal, the labels are read three times: the beginning, then all. The new goal is read back at once."""
    out = [struct.pack("<II", 0x20000, 0x20000)] * 2 + pieces(configuration(platform))
    if command in WITH_APP_DIRECT:
        out += pieces(configuration(platform)) * 8  # no labels
    if command == "cache":
        labels = pieces(label_index(1, 0, 256) + label_index(2, 256, 0))
        out += [labels[0], *labels] * 3 + pieces(configuration(replace(platform, goal=True)))
    return out


def use(platform):
    """The bytes of each module that are memory, and that are App Direct."""
    if platform.unused:
        return 0, 0
    if platform.mixed:
        return CAPACITY // 2, CAPACITY // 2
    return (CAPACITY, 0) if platform.cached else (0, CAPACITY)


class Modules:
    """The modules' firmware."""

    def __init__(self, command, platform):
        self.platform, self.reads = platform, {handle: reads(command, platform) for handle in HANDLES}

    def answer(self, call, handle):
        platform = self.platform
        if call == IDENTIFY:
            serial = struct.pack(">I", HANDLES[handle])
            out = struct.pack(
                "<HHHHBBBBB19xIHI", 0x8980, 0x097A, 0, 0x301, 0x46, 0x54, 0, 2, 1, CAPACITY >> 12, 0x8980, 0
            )
            out += b"NMA1XXD128GPS\0".ljust(20, b"\0") + struct.pack("<IxxH", 7, 0x0102)
            return out + bytes.fromhex("8980a21913") + serial + struct.pack("<H47x", 0x0102)
        if call == OPTIONS:
            return struct.pack("<Q", 0xF0 | 1 << 16 | 1 << 18 | 3 << 20)
        if call == PARTITIONS:
            memory, app_direct = use(platform)
            return struct.pack("<IIQIIQI", memory >> 12, 0, 0, app_direct >> 12, 0, memory, CAPACITY >> 12)
        if call == HEALTH and platform.ill and handle == max(HANDLES):
            return struct.pack("<IIB", 1, 0, 2)
        return self.reads[handle].pop(0) if call == GET_DATA and self.reads[handle] else b""


def calls(command, platform):
    """The calls of a command (a key of COMMANDS), each with the handle of its module."""
    first, second = HANDLES
    data = [GET_DATA] * len(pieces(configuration(platform)))
    labels, written = [GET_DATA] * 5, [SET_DATA] * 8
    begun = [[*data, SECURITY], [LABELS]]
    rest = {
        "resources": [data],
        "goal": [data],
        "abilities": [],
        "modules": [[*data, SECURITY, HEALTH, CLOCK, *[STATUS] * 4], [DEVICE]],
        "delete": [data, [SECURITY], *([[SET_DATA] * 2] if platform.goal else [])],
        **dict.fromkeys(WITH_APP_DIRECT, begun),
        "cache": [
            *begun,
            labels,
            labels,
            [SECURITY],
            [SET_DATA] * 2,
            [SET_DATA] * 3,
            written + labels,
            [*data, GET_DATA],
        ],
    }[command]
    out = [(call, handle) for group in [FIRST, *rest] for handle in HANDLES for call in group]
    if command in WITH_APP_DIRECT:
        out += [(GET_DATA, first)] * 8 + [(GET_DATA, second)] * 4 + [(SECURITY, first), (SECURITY, second)]
        out += [(SET_DATA, handle) for n in (2, 4) for handle in HANDLES for _ in range(n)]
        out += [(SET_DATA, first)] * 8 + [(GET_DATA, first)] * 4
    return out


def item(data, index=0):
    return struct.pack("<III", sign("PBLD"), len(data), index) + data


def record(call, reply):
    request = struct.pack("<QIBBxxII", 0, 0, *call, 0, 0)
    return request + struct.pack("<QQIIIBxxx", 0, 0, 0, len(reply), 0, 0) + reply


def recording(command, platform):
    """The recording of one command (a key of COMMANDS) on the platform, as the bytes of a file for ipmctl load."""
    modules = Modules(command, platform)
    records = [
        record(call, modules.answer(call, handle).ljust(128, b"\0")) for call, handle in calls(command, platform)
    ]
    replies = b"".join(item(each, index) for index, each in enumerate(records)) + bytes(64)
    tag = struct.pack("<IIIIIII", sign("PBTI"), sign("PBDC"), 0, 28 + len(command) + 3, 1, sign("PBCL"), 0)
    tag += command.encode() + b"\0" + b"0\0"
    parts = [
        ("PBNF", item(nfit()), 1),
        ("PBPC", item(pcat(platform)), 1),
        ("PBPM", item(pmtt()), 1),
        ("PBSM", item(smbios()), 1),
        ("PBCL", replies, len(records)),
        ("PBTI", item(tag) + bytes(64), 1),
    ]
    offset, index = 2853, b""
    for name, data, count in parts:
        index += struct.pack("<IIII", sign(name), len(data), offset, count)
        offset += len(data)
    head = (struct.pack("<I", sign("PBRH")) + index).ljust(2853, b"\0")
    return head + b"".join(data for _, data, _ in parts)
