"""Orders of pivots for saddle-point matrices, found from the pattern alone."""

from __future__ import annotations

import numpy as np

from dalembert.linalg.saddle.solver import SaddlePattern


def alike(pattern: SaddlePattern) -> bool:
    """Whether U is G, here or at another point."""
    return pattern.symmetric or all(map(np.array_equal, pattern.constraint, pattern.force))


def knows_constants(pattern: SaddlePattern) -> bool:
    """Whether there are entries of G that stay what they are, and those of U with them."""
    values = pattern.constraint_values
    return values is not None and bool(np.isfinite(values).any()) and alike(pattern)


class Search:
    """An order of pivots for a pattern, by the fewest multiplications now."""

    def __init__(self, pattern: SaddlePattern, most: int):
        self.pattern, self.most = pattern, most
        n = pattern.n
        self.neighbours: list[set[int]] = [set() for _ in range(n)]
        self.diagonal = [False] * n
        for i, j in zip(*(a.tolist() for a in pattern.entries()), strict=True):
            if i != j:
                self.neighbours[i].add(j)
                self.neighbours[j].add(i)
            else:
                self.diagonal[i] = True
        self.left = set(range(n))
        self.order: list[tuple[int, int]] = []  # row and column
        self.operations = 0
        self.stuck: int | None = None

    def take_diagonals(self) -> None:
        """All that is left, with pivots on the diagonal."""
        n, n_v = self.pattern.n, self.pattern.n_v
        left, neighbours, diagonal = self.left, self.neighbours, self.diagonal
        heavy = [diagonal[i] for i in range(n_v)]
        # constraints wait for their velocities with mass
        of_velocity = [[k for k in neighbours[i] if k >= n_v] for i in range(n_v)]
        waiting = [sum(heavy[j] for j in neighbours[i] if j < n_v) if i >= n_v else 0 for i in range(n)]
        while left and self.operations <= self.most:
            ready = [i for i in left if diagonal[i] and waiting[i] == 0]
            first = [i for i in ready if i >= n_v or heavy[i]] or ready
            if not first:
                self.stuck = min(left)
                return
            pivot = min(first, key=lambda i: (len(neighbours[i]), i))
            others = neighbours[pivot]
            self.operations += len(others) * (len(others) + 1)
            for i in others:
                neighbours[i] |= others - {i}
                neighbours[i].discard(pivot)
                diagonal[i] = True
            if pivot < n_v and heavy[pivot]:
                for k in of_velocity[pivot]:
                    waiting[k] -= 1
            left.discard(pivot)
            self.order.append((pivot, pivot))

    def take_pairs(self) -> None:
        """Constraints that can be solved for a velocity, as their largest constant entry belongs to it."""
        entries = self._largest_constants()
        while entries and self.operations <= self.most:
            cost, k, i = min((self._cost(k, i), k, i) for k, i in entries)
            across, along = self.neighbours[i] - {k}, self.neighbours[k] - {i}
            self.operations += cost
            for j in across | along:
                self.neighbours[j] -= {i, k}
            for j in along:
                self.neighbours[j] |= (across | along) - {j}
                self.diagonal[j] = True
            for j in across:
                self.neighbours[j] |= along - {j}
            self.left -= {i, k}
            self.order += [(k, i), (i, k)]
            changed = {(j, c) for j in across for c in along}
            entries = {(q, c) for q, c in entries if q != k and c != i and (q, c) not in changed}

    def _largest_constants(self) -> set[tuple[int, int]]:
        """(constraint, velocity) of entries of G that no other constant of their row exceeds."""
        n_v, values = self.pattern.n_v, np.abs(self.pattern.constraint_values)
        rows, columns = self.pattern.constraint
        largest = np.zeros(self.pattern.n_lam)
        known = np.isfinite(values) & (values > 0)
        np.maximum.at(largest, rows[known], values[known])
        chosen = known & (values >= largest[rows])
        return {(n_v + int(i), int(j)) for i, j in zip(rows[chosen], columns[chosen], strict=True)}

    def _cost(self, k: int, i: int) -> int:
        """Multiplications of the two pivots (k, i) and (i, k)."""
        across, along = len(self.neighbours[i]) - 1, len(self.neighbours[k]) - 1
        both = len((self.neighbours[i] | self.neighbours[k]) - {i, k})
        return (across + 1) * (along + 1) + along * (both + 1)
