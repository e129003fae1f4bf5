"""What is known of a system at the start: values by name, sorted into coordinates that are held and equations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.checks import NoNumber, real, reals, shown
from dalembert.errors import ModelError, OptionError
from dalembert.model.namespace import explain_unknown
from dalembert.multibody import algebra as al
from dalembert.multibody.algebra import Scalar
from dalembert.multibody.parts import Body, Frame, Joint
from dalembert.multibody.quantities import rotation
from dalembert.multibody.skeleton import Skeleton

if TYPE_CHECKING:
    from dalembert.multibody.scene import Scene
    from dalembert.multibody.system import Multibody

_EULER = ("e0", "e1", "e2", "e3")
_TURNING = ("wx", "wy", "wz")
#: what may be known of a body, and whether it is a velocity
_OF_BODIES = {
    "position": False, "com": False, "orientation": False, "angle": False, "velocity": True, "com_velocity": True,
    "angular_velocity": True,
}  # fmt: skip


@dataclass
class Known:
    """Values of coordinates and rates, as the tree has them, and what has to become an equation.

    `held` and `held_rates` map places in p and v to the name under which the value was given.
    """

    p: np.ndarray
    v: np.ndarray
    held: dict[int, str] = field(default_factory=dict)
    held_rates: dict[int, str] = field(default_factory=dict)
    equations: dict[str, Any] = field(default_factory=dict)  # of positions: name → value
    rates: dict[str, Any] = field(default_factory=dict)  # of velocities


def gather(system: Multibody, bones: Skeleton, known: Mapping[str, Any] | None, joints: bool = True) -> Known:
    """Joints' q0 and v0 (unless `joints` is false), and values by name, which come before these."""
    found = Known(zero(bones), np.zeros(bones.n_v))
    backwards = {c.joint.number for c in bones.carriers if c.joint is not None and c.backwards}
    for joint in system.joints if joints else ():
        if joint.q0 is not None or joint.v0 is not None:
            _of_joint(found, bones, joint, joint.number in backwards)
    if known is None:
        return found
    if not isinstance(known, Mapping):
        raise ModelError(f"known={shown(known)} must map names, such as 'motor.angle', to values")
    _by_name(found, system, bones, known)
    return found


def time_of(where: str, t: Any) -> float:
    """A finite time."""
    try:
        value = real(t)
    except NoNumber as reason:
        raise OptionError(f"{where}: t={shown(t)} {reason}") from None
    if not np.isfinite(value):
        raise OptionError(f"{where}: t={value} must be finite")
    return value


def names_of(where: str, names: Any) -> tuple[str, ...]:
    """A name, or a sequence of names."""
    if isinstance(names, str):
        return (names,)
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise OptionError(f"{where}={shown(names)} must be a list of names")
    return tuple(names)


def zero(bones: Skeleton) -> np.ndarray:
    """Coordinates zero, Euler parameters of no rotation."""
    from dalembert.multibody.kinds import Move

    p = np.zeros(bones.n_q)
    p[bones.q_at[bones.move == Move.SPHERICAL]] = 1.0
    p[bones.q_at[bones.move == Move.FREE] + 3] = 1.0
    return p


def _of_joint(found: Known, bones: Skeleton, joint: Joint, backwards: bool) -> None:
    kind = joint.kind
    if not bones.in_tree(joint):
        for values, parts, rows in ((joint.q0, kind.coordinates, found.equations), (joint.v0, kind.rates, found.rates)):
            if values is not None:
                rows.update(_as_equations(joint.name, dict(zip(parts, values, strict=True))))
        return
    order = -1 if backwards and "e0" not in kind.coordinates else 1
    link = bones.first_link[joint.number]
    for given, first, names, held, out in (
        (joint.q0, bones.q_at[link], bones.names, found.held, found.p),
        (joint.v0, bones.v_at[link], bones.rates, found.held_rates, found.v),
    ):
        if given is not None:
            for place, value in enumerate(given[::order], int(first)):
                out[place], held[place] = value, names[place]


def _as_equations(head: str, parts: Mapping[str, float]) -> dict[str, Any]:
    """Values of a joint by full name; Euler parameters, and turning speeds, stay together."""
    rows: dict[str, Any] = {f"{head}.{part}": x for part, x in parts.items() if part not in (*_EULER, *_TURNING)}
    for together, name in ((_EULER, "rotation"), (_TURNING, "turning")):
        if together[0] in parts:
            rows[f"{head}.{name}"] = np.array([parts[part] for part in together])
    return rows


def _by_name(found: Known, system: Multibody, bones: Skeleton, known: Mapping[str, Any]) -> None:
    joints = {joint.name: joint for joint in system.joints}
    bodies = {body.name: body for body in system.bodies}
    faults: list[str] = []
    whole: dict[tuple[str, str], dict[str, float]] = {}  # Euler parameters and turning speeds, which come together
    for name, value in known.items():
        head, _, part = name.partition(".") if isinstance(name, str) else ("", "", "")
        joint, body = joints.get(head), bodies.get(head)
        if joint is not None and part == "speed" and joint.kind.freedoms == 1:
            part = joint.kind.rates[0]
        if joint is not None and part in (*joint.kind.coordinates, *joint.kind.rates):
            if (number := _number(name, value, faults)) is None:
                continue
            if part in _EULER or part in _TURNING:
                whole.setdefault((head, "e" if part in _EULER else "w"), {})[part] = number
            elif bones.in_tree(joint):
                _hold(found, bones, f"{head}.{part}", number)
            else:
                (found.rates if part in joint.kind.rates else found.equations)[f"{head}.{part}"] = number
        elif body is not None and part in _OF_BODIES and not (part == "angle" and not system.planar):
            if (checked := _of_body(system, name, part, value, faults)) is not None:
                (found.rates if _OF_BODIES[part] else found.equations)[name] = checked
        elif body is not None and body.number in bones.own and name in (*bones.names, *bones.rates):
            if (number := _number(name, value, faults)) is None:
                continue
            if part in _EULER or part in _TURNING:
                whole.setdefault((head, "e" if part in _EULER else "w"), {})[part] = number
            else:
                _hold(found, bones, name, number)
        else:
            faults.append(f"known: {explain_unknown(name, _names(system, bones))}")
    for (head, which), parts in whole.items():
        needed = _EULER if which == "e" else _TURNING
        missing = [f"{head}.{part}" for part in needed if part not in parts]
        if missing:
            faults.append(
                f"known: of '{head}' all of {', '.join(needed)} must be given, or none; {missing[0]} is missing"
            )
            continue
        values = np.array([parts[part] for part in needed])
        if which == "e" and abs(np.linalg.norm(values) - 1.0) > 1e-6:
            faults.append(f"known: the Euler parameters of '{head}', {tuple(values.tolist())}, must have length 1")
            continue
        _hold_rotation(found, bones, head, joints.get(head), which, values)
    if faults:
        raise ModelError(f"what is known of '{system.name}' has faults", faults)


def _hold(found: Known, bones: Skeleton, name: str, value: float) -> None:
    if name in bones.names:
        place = bones.names.index(name)
        found.p[place], found.held[place] = value, name
    else:
        place = bones.rates.index(name)
        found.v[place], found.held_rates[place] = value, name


def _hold_rotation(
    found: Known, bones: Skeleton, head: str, joint: Joint | None, which: str, values: np.ndarray
) -> None:
    parts, names = (_EULER, bones.names) if which == "e" else (_TURNING, bones.rates)
    if joint is not None and not bones.in_tree(joint):
        equations = _as_equations(head, dict(zip(parts, values, strict=True)))
        (found.equations if which == "e" else found.rates).update(equations)
        return
    place = names.index(f"{head}.{parts[0]}")
    out, held = (found.p, found.held) if which == "e" else (found.v, found.held_rates)
    out[place : place + len(parts)] = values
    held.update({place + k: f"{head}.{part}" for k, part in enumerate(parts)})


def _number(name: str, value: Any, faults: list[str]) -> float | None:
    try:
        number = real(value)
    except NoNumber as reason:
        faults.append(f"known['{name}'] = {shown(value)} {reason}")
        return None
    if not np.isfinite(number):
        faults.append(f"known['{name}'] = {number} must be finite")
        return None
    return number


def _of_body(system: Multibody, name: str, part: str, value: Any, faults: list[str]) -> Any:
    width = 2 if system.planar else 3
    if part == "angle" or (part == "angular_velocity" and system.planar):
        return _number(name, value, faults)
    if part == "orientation":
        try:
            return rotation(f"known['{name}']", "value", () if value is None else value, system.planar)
        except ModelError as error:
            faults.append(str(error))
            return None
    try:
        entries = reals(value)
    except NoNumber as reason:
        faults.append(f"known['{name}'] = {shown(value)} {reason}")
        return None
    if entries.shape != (width,) or not np.isfinite(entries).all():
        faults.append(f"known['{name}'] = {shown(value)} must have {width} finite components")
        return None
    return np.concatenate([entries, np.zeros(3 - width)])


def _names(system: Multibody, bones: Skeleton) -> list[str]:
    names = [name for joint in system.joints for name in (*joint.coordinates, *joint.rates)]
    parts = [part for part in _OF_BODIES if part != "angle" or system.planar]
    names += [f"{body.name}.{part}" for body in system.bodies for part in parts]
    return list(dict.fromkeys([*names, *bones.names, *bones.rates]))


# -- as equations --------------------------------------------------------------------------------------------------


def rows_of(scene: Scene, name: str, value: Any) -> list[tuple[Scalar, bool]]:
    """Expressions that vanish where a known value holds, each with whether it is a length (or else an angle)."""
    head, _, part = name.partition(".")
    joint = next((j for j in scene.system.joints if j.name == head), None)
    if joint is None:
        return _rows_of_body(scene, next(b for b in scene.system.bodies if b.name == head), part, value)
    reading = scene.reading(joint)
    if part == "rotation":
        return _same_rotation(reading.Q, np.array(al.rotation_of(tuple(value)), float))
    if part == "turning":
        return [(al.minus(reading.rates[w], float(x)), False) for w, x in zip(_TURNING, value, strict=True)]
    if part in joint.kind.rates:
        return [(al.minus(reading.rates[part], value), part[:-4] in ("x", "y", "z", "distance"))]
    away = al.minus(reading.coordinates[part], value)
    if part.startswith("angle") and not joint.counted and joint.kind.name != "screw":
        return [(_within_a_turn(away), False)]
    return [(away, not part.startswith("angle"))]


def _rows_of_body(scene: Scene, body: Body, part: str, value: Any) -> list[tuple[Scalar, bool]]:
    at = scene.motion(Frame(body, body.com) if part.startswith("com") else Frame(body))
    if part == "orientation":
        return _same_rotation(at.R, value)
    if part == "angle":
        return [(_within_a_turn(al.minus(at.angle, value)), False)]
    if part == "angular_velocity":
        return (
            [(al.minus(at.w[2], value), False)]
            if scene.planar
            else [(al.minus(w, float(x)), False) for w, x in zip(at.w, value, strict=True)]
        )
    width = 2 if scene.planar else 3
    here = at.v if part.endswith("velocity") else at.x
    return [(al.minus(a, float(x)), True) for a, x in zip(here[:width], value[:width], strict=True)]


def _within_a_turn(angle: Scalar) -> Scalar:
    """An angle that may be off by full turns."""
    return (
        ca.atan2(ca.sin(angle), ca.cos(angle))
        if type(angle) is ca.SX
        else float(np.arctan2(np.sin(angle), np.cos(angle)))
    )


def _same_rotation(R: Any, wanted: np.ndarray) -> list[tuple[Scalar, bool]]:
    """Nine equations, not three: those vanish for rotations by π, too."""
    return [(al.minus(R[i][k], float(wanted[i, k])), False) for i in range(3) for k in range(3)]
