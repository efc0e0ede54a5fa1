# SPDX-License-Identifier: Apache-2.0
"""Reading hybridmem's records: what the commands that show and collect them are made of. Standard library only."""
