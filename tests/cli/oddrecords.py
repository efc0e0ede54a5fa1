# SPDX-License-Identifier: Apache-2.0
"""Makes records of runs on several nodes and days with odd figures, as another program might have written them."""

import random

from makerecords import record, tier

SEED = 20250301
# What another program might write as a figure.
AMOUNTS = (None, 0, 1, 7, 7, 1 << 40, (1 << 56) - 1, 1 << 56, -1, 2.5, "7", True, [], 1e300)
SECONDS = (None, 0, 0.0004, 0.0005, 1, 3600.25, 3600.25, -7200, 1 << 60, "1", 1e-9)
JOULES = (None, 0, 0.1, 0.2, 0.3, 1234.5678915, 1e-7, -3, 5, 1 << 61, 4e12, 1e300, "9", False)
MOVED = (None, 0, 3, 10**9, 10**9, (1 << 62) + 1, 1 << 63, -5, 2.0)
WORDS = (None, "", "alice", "bob", "bob", "a\0b", "\ud800", 7, "Zoë", "?")
MODES = (
    None,
    {},
    {"mode": ""},
    {"mode": "spill"},
    {"mode": "spill"},
    {"mode": "fast"},
    {"mode": 1},
    {"mode": "\udfff"},
)
ABSENT = object()
SHARED = (ABSENT, ABSENT, ABSENT, True, False, False, None, "x")
COUNTED = (None, {}, {"seconds": 1})  # what the node's counters say, where the job has no figures of its own
REQUESTS = (None, "", "spill,size=1G", "slow", ",")
ENDS = ("2025-03-01T12:00:00Z", "2025-03-01T23:59:59.999Z", "2025-03-02T00:00:01Z", "2025-03-03T01:00:00+02:00")


def odd_tier(draw, name):
    made = tier(name, [0], draw(AMOUNTS), 0, points=0, capacity=draw(AMOUNTS))
    return {**made, "mean_bytes": draw(AMOUNTS)}


def odd_records(count):
    """Yields records of runs on several nodes and days, with any figures. They are the same at each call."""
    dice = random.Random(SEED)
    draw = dice.choice
    for _ in range(count):
        names = draw((("dram", "pmem"), ("dram", "pmem"), ("dram", "hbm", "pmem"), ("dram",), ()))
        parts = [{"name": name, "read_bytes": draw(MOVED), "write_bytes": draw(MOVED)} for name in names]
        modelled = [{"static_j": draw(JOULES), "dynamic_j": draw(JOULES)} for _ in names]
        job = 100 + dice.randrange(40)
        made = record(
            job,
            shared=draw(SHARED),
            node=f"n{dice.randrange(6)}",
            cluster=draw(("test", "test", "other", None)),
            restart_count=draw((0, 0, 0, 1, None)),
            user=draw(WORDS),
            account=draw(WORDS),
            plan=draw(MODES),
            request=draw(REQUESTS),
            end=draw(ENDS[:3] if job % 2 else ENDS[2:]),  # a run is of two days at most
            elapsed_s=draw(SECONDS),
            exit_code=draw((0, 0, 1, 137, None, "1", 1 << 62, 1 << 63)),
            warnings=draw(([], [], ["a"], ["a", "b"], None, "no list")),
            memory=draw((None, 7, *[{"tiers": [odd_tier(draw, name) for name in names]}] * 8)),
            energy=draw(
                (
                    *(None, [], {"node": draw(COUNTED)}),
                    *[
                        {
                            **{key: draw(JOULES) for key in ("package_j", "memory_j", "platform_j", "peak_w")},
                            "node": draw((None, {"seconds": draw(SECONDS)})),
                            "estimate": draw((None, {"tiers": modelled})),
                        }
                    ]
                    * 5,
                )
            ),
            traffic=draw((None, {"tiers": [], "node": draw(COUNTED)}, *[{"tiers": parts, "job": None}] * 4)),
        )
        yield {key: value for key, value in made.items() if value is not ABSENT}
