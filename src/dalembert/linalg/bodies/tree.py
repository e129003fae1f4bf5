"""The kinematic tree of a mechanism, found from the nonzeros of M and G alone.

Bodies are the connected components of M. Where M is diagonal they are too small (x, y and phi of one body): a
coordinate then joins the coordinate that stands in all its constraints, and coordinates in the same constraints join.
Massless coordinates in constraints between the same two bodies are joint coordinates and belong to the outer one;
others (points without mass) are bodies of their own. Constraints between the same two bodies are a joint. A spanning
tree hangs every body on its father; constraints that are not part of it are cut, and closed later.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from dalembert.linalg.saddle.solver import SaddlePattern

LARGEST = 6  # coordinates that may be joined to one body


@dataclass(frozen=True)
class Tree:
    """Bodies in an order in which fathers stand before their sons."""

    bodies: tuple[tuple[int, ...], ...]  # velocities of each body, joint coordinates last
    joint_coordinates: tuple[int, ...]  # how many of them are joint coordinates
    father: tuple[int, ...]  # −1: none
    joints: tuple[tuple[int, ...], ...]  # constraints that are eliminated together with the body
    cut: tuple[int, ...]  # constraints that close loops

    @property
    def largest(self) -> int:
        """Size of the largest block that has to be eliminated."""
        return max((len(b) + len(j) for b, j in zip(self.bodies, self.joints, strict=True)), default=0)


def find_tree(pattern: SaddlePattern) -> Tree:
    """Bodies, joints and the constraints to cut; found once for a pattern, though several ask for it."""
    if pattern not in _found:
        _found[pattern] = _find_tree(pattern)
    return _found[pattern]


_found: WeakKeyDictionary[SaddlePattern, Tree] = WeakKeyDictionary()


def _find_tree(pattern: SaddlePattern) -> Tree:
    touched = _velocities_of_constraints(pattern)
    massive = np.zeros(pattern.n_v, bool)
    massive[pattern.mass[0]] = True
    units = _massive_bodies(pattern, touched, massive)
    nodes, attached = _place_massless(touched, massive, units)
    return _spanning_tree(touched, massive, nodes, attached)


def _velocities_of_constraints(pattern: SaddlePattern) -> list[list[int]]:
    places = (pattern.constraint, *([] if pattern.symmetric else [pattern.force]))
    keys = np.unique(np.concatenate([rows * pattern.n_v + columns for rows, columns in places]))
    ends = np.searchsorted(keys, np.arange(1, pattern.n_lam + 1) * pattern.n_v).tolist()
    columns = (keys % max(pattern.n_v, 1)).tolist()
    return [columns[start:end] for start, end in itertools.pairwise([0, *ends])]


def _massive_bodies(pattern: SaddlePattern, touched: list[list[int]], massive: np.ndarray) -> list[list[int]]:
    """Components of M, joined where single coordinates belong together."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    rows, columns = pattern.mass
    n = pattern.n_v
    _, label = connected_components(coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(n, n)), directed=False)
    members: dict[int, list[int]] = {}
    for v in np.flatnonzero(massive).tolist():
        members.setdefault(int(label[v]), []).append(v)
    components = sorted(members.values())
    constraints_of: list[set[int]] = [set() for _ in range(n)]
    for c, velocities in enumerate(touched):
        for v in velocities:
            constraints_of[v].add(c)
    signature = [frozenset().union(*(constraints_of[v] for v in component)) for component in components]
    group = _same_constraints(components, signature)
    _join_to_heads(components, signature, group, touched)
    joined: dict[int, list[int]] = {}
    for k, component in enumerate(components):
        joined.setdefault(group[k], []).extend(component)
    return sorted(sorted(body) for body in joined.values())


def _same_constraints(components: list[list[int]], signature: list[frozenset[int]]) -> list[int]:
    """Single coordinates in the same constraints are one body: group of each component."""
    group = list(range(len(components)))
    first: dict[frozenset[int], tuple[int, int]] = {}
    for k, component in enumerate(components):
        if len(component) == 1 and signature[k]:
            head, size = first.get(signature[k], (k, 0))
            if size == LARGEST:
                head, size = k, 0
            group[k] = head
            first[signature[k]] = (head, size + 1)
    return group


def _join_to_heads(
    components: list[list[int]], signature: list[frozenset[int]], group: list[int], touched: list[list[int]]
) -> None:
    """Join coordinates to the component that stands in all their constraints and in as few others as possible."""
    size, single, home = [0] * len(components), [True] * len(components), {}
    for k, component in enumerate(components):
        size[group[k]] += len(component)
        single[group[k]] &= len(component) == 1
        home.update((v, group[k]) for v in component)
    members: dict[int, list[int]] = {}
    for k, g in enumerate(group):
        members.setdefault(g, []).append(k)
    units = sorted(members)
    above: dict[int, list[int]] = {}
    covered = dict.fromkeys(units, 0)
    for k in units:
        if not single[k] or not signature[k]:
            continue
        smallest = min(signature[k], key=lambda c: len(touched[c]))
        near = {home[v] for v in touched[smallest] if v in home} if len(touched[smallest]) <= 8 * LARGEST else set()
        above[k] = [h for h in near if h != k and signature[k] < signature[h]]
        for h in above[k]:
            covered[h] += 1
    grown, heads = dict(size_of := {k: size[k] for k in units}), set()
    for k in sorted(above, key=lambda k: (len(signature[k]), k)):
        if k in heads:
            continue
        lone = size_of[k] == 1
        choice = [
            h for h in above[k]
            if group[h] == h and grown[h] + size_of[k] <= LARGEST and (lone or not single[h] or size_of[h] == 1)
        ]  # fmt: skip
        if choice:
            apart = lambda h: abs(components[h][0] - components[k][0])  # noqa: B023, E731
            head = min(choice, key=lambda h: (len(signature[h]), -covered[h], apart(h)))
            heads.add(head)
            grown[head] += size_of[k]
            for i in members[k]:
                group[i] = head


def _place_massless(
    touched: list[list[int]], massive: np.ndarray, units: list[list[int]]
) -> tuple[list[list[int]], list[tuple[list[int], set[int]]]]:
    """All nodes of the graph, and the joint coordinates with the nodes to which they may belong."""
    home = {v: k for k, body in enumerate(units) for v in body}
    near: dict[int, set[int]] = {}  # bodies in any constraint of a massless coordinate, and in all of them
    common: dict[int, set[int]] = {}
    constraints_of: dict[int, set[int]] = {}
    between: set[int] = set()
    for c, velocities in enumerate(touched):
        bodies = {home[v] for v in velocities if massive[v]}
        for v in velocities:
            if not massive[v]:
                near.setdefault(v, set()).update(bodies)
                common[v] = common.get(v, bodies) & bodies
                constraints_of.setdefault(v, set()).add(c)
                if len(bodies) > 1:
                    between.add(v)
    groups: list[list[int]] = []
    of_constraint: dict[int, int] = {}  # the last group that stands in a constraint
    place = lambda v: (near.get(v), common.get(v))  # noqa: E731
    for v in np.flatnonzero(~massive).tolist():
        known = [of_constraint[c] for c in sorted(constraints_of.get(v, ())) if c in of_constraint]
        if near.get(v) and groups and groups[-1][-1] == v - 1:
            known.append(len(groups) - 1)
        k = next((k for k in known if place(groups[k][0]) == place(v) and len(groups[k]) < LARGEST), len(groups))
        if k == len(groups):
            groups.append([])
        groups[k].append(v)
        of_constraint.update((c, k) for c in constraints_of.get(v, ()))
    nodes, attached = list(units), []
    for group in groups:
        constraints = set().union(*(constraints_of.get(v, set()) for v in group))
        bodies, shared = near.get(group[0], set()), common.get(group[0], set())
        if shared and (between.intersection(group) or (len(bodies) == 1 and len(constraints) > len(group))):
            attached.append((group, shared))
        else:
            nodes.append(group)
    return nodes, attached


def _spanning_tree(touched: list[list[int]], massive: np.ndarray, nodes: list[list[int]], attached: list) -> Tree:
    home = {v: k for k, node in enumerate(nodes) for v in node}
    grounded = [0] * len(nodes)  # constraints of one body alone
    edges: dict[tuple[int, int], list[int]] = {}
    for c, velocities in enumerate(touched):
        ends = sorted({home[v] for v in velocities if v in home})
        if len(ends) == 1:
            grounded[ends[0]] += 1
        elif len(ends) == 2:
            edges.setdefault((ends[0], ends[1]), []).append(c)
    neighbours = _fewest_cut(edges, len(nodes))
    has_mass = [bool(massive[node[0]]) for node in nodes]
    father, depth = [-2] * len(nodes), [0] * len(nodes)
    for root in sorted(range(len(nodes)), key=lambda k: (not has_mass[k], -grounded[k], k)):
        if father[root] != -2:
            continue
        father[root] = -1
        layer = [root]
        while layer:
            below = []
            for k in layer:
                for son in neighbours[k]:
                    if father[son] == -2:
                        father[son], depth[son] = k, depth[k] + 1
                        below.append(son)
            layer = below
    members, n_joint = [list(node) for node in nodes], [0] * len(nodes)
    for group, bodies in attached:
        outer = max(bodies, key=lambda k: (depth[k], k))
        members[outer] += group
        n_joint[outer] += len(group)
        home.update((v, outer) for v in group)
    joints, cut = _place_constraints(touched, home, father, members)
    return _labelled(members, n_joint, father, joints, cut)


def _place_constraints(
    touched: list[list[int]], home: dict[int, int], father: list[int], members: list[list[int]]
) -> tuple[list[list[int]], list[int]]:
    """Constraints of each body, alone or with its father; all others, and those that are too many, are cut."""
    joints: list[list[int]] = [[] for _ in members]
    own: list[list[int]] = [[] for _ in members]
    cut: list[int] = []
    for c, velocities in enumerate(touched):
        ends = {home[v] for v in velocities}
        son = next((k for k in ends if len(ends) == 1 or (len(ends) == 2 and father[k] in ends)), None)
        if son is None:
            cut.append(c)
        else:
            (own if len(ends) == 1 else joints)[son].append(c)
    for k, size in enumerate(map(len, members)):
        if len(joints[k]) > size:
            cut += joints[k]
            joints[k] = []
        if father[k] >= 0 and len(joints[k]) + len(own[k]) > size:
            cut += own[k]  # a second connection with the ground
        else:
            joints[k] += own[k]
    return joints, cut


def _fewest_cut(edges: dict[tuple[int, int], list[int]], n: int) -> list[list[int]]:
    """Neighbours in a spanning forest that keeps the joints with most constraints."""
    top = list(range(n))

    def find(k: int) -> int:
        while top[k] != k:
            top[k] = k = top[top[k]]
        return k

    neighbours: list[list[int]] = [[] for _ in range(n)]
    for a, b in sorted(edges, key=lambda edge: (-len(edges[edge]), edge)):
        if find(a) != find(b):
            top[find(a)] = find(b)
            neighbours[a].append(b)
            neighbours[b].append(a)
    return neighbours


def _labelled(members: list, n_joint: list, father: list[int], joints: list, cut: list[int]) -> Tree:
    """Number the bodies so that sons come after, and chains lie together."""
    sons: list[list[int]] = [[] for _ in members]
    for k, f in enumerate(father):
        if f >= 0:
            sons[f].append(k)
    order: list[int] = []
    stack = [k for k in reversed(range(len(members))) if father[k] < 0]
    while stack:
        k = stack.pop()
        order.append(k)
        stack.extend(reversed(sons[k]))
    label = {k: i for i, k in enumerate(order)}
    return Tree(
        bodies=tuple(tuple(members[k]) for k in order),
        joint_coordinates=tuple(n_joint[k] for k in order),
        father=tuple(label[father[k]] if father[k] >= 0 else -1 for k in order),
        joints=tuple(tuple(sorted(joints[k])) for k in order),
        cut=tuple(sorted(cut)),
    )
