# SPDX-License-Identifier: Apache-2.0
"""Reading hybridmem's records: what `hybridmem show` and `hybridmem report` are made of. Standard library only."""
