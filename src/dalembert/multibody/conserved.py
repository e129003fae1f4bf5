"""Energy as an invariant: which systems keep it, and how much of it there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.errors import OptionError
from dalembert.locks import forks_wait
from dalembert.multibody.elements import Bushing, Coupling, Spring, Torsion
from dalembert.multibody.observe import Observer

if TYPE_CHECKING:
    from dalembert.multibody.system import Multibody

#: the parameter of models that holds the energy at the start
ENERGY = "energy.start"


def check_conservative(system: Multibody) -> None:
    """Refuse what takes energy out or brings it in."""
    wrong = [f"joint '{joint.name}' is driven" for joint in system.joints if joint.drive is not None]
    wrong += [f"joint '{joint.name}' has damping" for joint in system.joints if joint.damping != 0.0]
    for element in system.elements:
        what = f"{type(element).__name__.lower()} '{element.name}'"
        if isinstance(element, Coupling):
            continue
        if not isinstance(element, Spring | Torsion | Bushing):
            wrong.append(f"{what} does work")
        elif isinstance(element, Bushing):
            if any(x != 0.0 for x in (*element.damping, *element.rotational_damping)):
                wrong.append(f"{what} has damping")
            elif len(set(element.rotational)) > 1:
                wrong.append(f"{what} has no potential, since its rotational stiffnesses differ")
        elif callable(element.stiffness):
            wrong.append(f"{what} has a stiffness of which no potential is known")
        elif callable(element.damping) or element.damping != 0.0:
            wrong.append(f"{what} has damping")
    wrong += [f"impacts of contact '{contact.name}' take energy" for contact in system.contacts[:1]]
    wrong += [f"dry friction '{brake.name}' takes energy" for brake in system.brakes]
    if wrong:
        raise OptionError(f"invariant='energy': the energy is not kept, since {'; '.join(wrong)}")


@forks_wait
def energy_at(observer: Observer, p: Any, v: Any) -> float:
    """Total energy at positions and velocities in the observer's coordinates."""
    parts, parameters = observer.parts, observer.system.parameters
    energy = ca.Function(
        "energy",
        [parts.symbols.p, parts.symbols.v, ca.vertcat(*parts.symbols.parameters.values())],
        [ca.SX(observer._energy_total())],
    )
    values = np.array([parameter.value for parameter in parameters.values()])
    return float(energy(np.asarray(p, float), np.asarray(v, float), values))
