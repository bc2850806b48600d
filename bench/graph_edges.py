"""The graphs of the benchmarks, as records of edges, and the labels that are right: the smallest vertex of each component, by scipy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

Edges = npt.NDArray[np.int64]
"""A row for each edge: its two vertices."""
POWER = 0.6
"""The n-th vertex has a share of n^-0.6 of all ends, so degrees fall off with an exponent of about 2.7, as in the webs of people and pages."""


def random_edges(vertices: int, edges: int, seed: int = 1) -> Edges:
    return np.random.default_rng(seed).integers(0, vertices, (edges, 2))


def power_law(vertices: int, edges: int, seed: int = 1) -> Edges:
    """Vertices that have many edges are anywhere among the numbers, not the smallest ones."""
    dice = np.random.default_rng(seed)
    shares = np.arange(1, vertices + 1) ** -POWER
    ends = dice.choice(vertices, (edges, 2), p=shares / shares.sum())
    return dice.permutation(vertices)[ends]


def chain(vertices: int, seed: int = 1) -> Edges:
    """Along its numbers; the edges come in any order."""
    along = np.column_stack([np.arange(vertices - 1), np.arange(1, vertices)])
    return np.random.default_rng(seed).permutation(along)


def records(edges: Edges) -> Iterator[tuple[bytes, bytes]]:
    for source, target in edges.tolist():
        yield b"%d" % source, b'{"src": %d, "dst": %d}' % (source, target)


def labels(edges: Edges) -> dict[int, int]:
    """Of each vertex that has an edge."""
    size = int(edges.max()) + 1 if len(edges) else 0
    ones = np.ones(len(edges), np.int8)
    _, parts = connected_components(coo_matrix((ones, (edges[:, 0], edges[:, 1])), shape=(size, size)), directed=False)
    smallest = np.full(size, size)
    np.minimum.at(smallest, parts, np.arange(size))
    there = np.unique(edges)
    return dict(zip(there.tolist(), smallest[parts[there]].tolist(), strict=True))
