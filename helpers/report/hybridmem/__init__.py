# SPDX-License-Identifier: Apache-2.0
"""Reads hybridmem's records. The commands that show and collect records are made of these modules. They need only the
standard library; a history also needs DuckDB."""
