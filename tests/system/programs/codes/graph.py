# SPDX-License-Identifier: Apache-2.0
"""Breadth-first searches in a graph whose degrees follow a power law, one of several independent runs, by igraph.

    python3 graph.py RANK SEARCHES

Writes a line to out.RANK after each search: its number, the vertex that it began at, and the sum of all distances."""

import random
import sys
from pathlib import Path

import igraph

VERTICES, EDGES = 30000, 10  # edges of each new vertex
rank, searches = map(int, sys.argv[1:])

random.seed(rank)
graph = igraph.Graph.Barabasi(VERTICES, EDGES)
with Path(f"out.{rank}").open("w", buffering=1) as out:
    for search in range(1, searches + 1):
        root = random.randrange(VERTICES)
        print(search, root, sum(graph.distances(root)[0]), file=out)
