# SPDX-License-Identifier: Apache-2.0
"""A request for each mode that the guest can have."""

# The guest has no node of HBM, and none behind a memory-side cache. Jobs of profile and guided are in test_sites.py and
# test_sites_profiles.py.
NOT_HERE = {"hbm", "memory", "profile", "guided"}

# Request: the task's policy, the plan's mode and policy; None: no record.
MODES = {
    "off": ("default", None, None),
    "fast": ("bind=static:0-1", "fast", "bind"),
    "slow": ("bind=static:2-3", "slow", "bind"),
    "dram": ("bind=static:0-1", "dram", "bind"),
    "pmem": ("bind=static:2-3", "pmem", "bind"),
    "cxl": ("bind=static:2-3", "cxl", "bind"),
    "interleave": ("interleave=static:0-3", "interleave", "interleave"),
    "spill": ("interleave=static:0-1", "spill", "interleave"),
    "isolate": ("default", "isolate", "default"),
    "migrate": ("interleave=static:0-1", "migrate", "interleave"),
    "fsdax,size=128M": ("default", "fsdax", "default"),
}
