"""Stewart's platform: a body on six legs, each with a universal joint, a slide and a ball joint."""

from __future__ import annotations

import casadi as ca
import numpy as np

from dalembert.locks import forks_wait
from dalembert.model.expression import scalar, to_sx
from dalembert.multibody.shapes import Cylinder, Plate, Sphere
from dalembert.multibody.system import Multibody

from ..arguments import check_choice, check_positive, checked
from .problem import BodiesProblem, JointValues, euler_parameters, problem_of

LEGS = range(6)
HEIGHT = 1.2  # m, of the platform at the start
STIFFNESS = 2e4  # N/m, of the springs in the legs
#: angles of the joints on the base (radius 1 m) and on the platform (0.6 m), in pairs
_PAIRS = np.radians([-10.0, 10.0, 110.0, 130.0, 230.0, 250.0])
BASE = np.stack([np.cos(_PAIRS), np.sin(_PAIRS), 0 * _PAIRS], axis=1)
_TURNED = np.radians([-50.0, 50.0, 70.0, 170.0, 190.0, 290.0])
TOP = 0.6 * np.stack([np.cos(_TURNED), np.sin(_TURNED), 0 * _TURNED], axis=1)

# version with springs: t; both angles and length of the first leg to the sixth, Euler parameters of ball1; their rates
_KNOWN_VALUES = (
    (
        0.5,
        [0.2342739529458544, -0.48849372870852936, 1.3096207584197859, -0.2673696868656097,
         -0.49370973203953145, 1.3038281302379207, 0.30972085122419934, 0.4221338468306138,
         1.290762505637061, 0.49360220887890466, 0.02808388987715503, 1.3645012357601998, -0.51215096785874,
         0.0282445036197892, 1.3830600897005074, -0.33125616792406676, 0.415239409624737,
         1.3208861032281527, 0.9508277070486345, -0.12347128271538702, 0.2827788701162803,
         0.026788513751490054],
        [-0.64163513638115, -0.8313941510262008, 0.09318640951063464, -0.4058972215167664,
         -0.14897478354927174, 1.8323918443475056, -0.8336826023573779, -0.9247662652973604,
         -0.0671164159812572, 0.9174148487026477, -0.9689942707995477, -3.561724057745339,
         -1.7910227986453238, -0.9553340187390501, -3.2992996805132737, -0.9348642979605684,
         -0.461636055654518, -1.280229304393891, 2.3421502197357307, -3.751695762932398,
         0.4560415985681033],
    ),
    (
        1.0,
        [0.21631202204950425, -0.5082621818629327, 1.3426405698371844, -0.2681980417739287,
         -0.4945557013115988, 1.3720384172683255, 0.2846365621989257, 0.38688882547392395,
         1.312957376175193, 0.4947825842200236, -0.0007794369851955314, 1.3172053135978665,
         -0.5437999698377679, -0.001127530769366994, 1.3496433774984407, -0.3446097135202522,
         0.38517992346398267, 1.3113590185985122, 0.9630180738576443, -0.09491132963949767,
         0.2510854105241349, 0.023326927605298833],
        [-0.16208440982795733, 1.4960475922653063, 2.482433334262926, 1.4719563508778917,
         1.8032162995150822, 3.768514264041723, -0.4607275625340535, -0.838191969749219, 3.6780185378225396,
         1.1519081422875013, 0.33035641033530516, -1.6500321625793322, -0.6344028054163697,
         0.3477932964951005, -2.4685296911904944, 0.8697127696814414, -0.02812038190781198,
         1.5867888860967128, 2.00258581132355, -7.93796491166386, -0.11532045435203096],
    ),
)  # fmt: skip


@checked
def stewart_platform(
    coordinates: str = "joint", *, drive: str = "lengths", energy: bool = False, t_end: float = 1.0
) -> BodiesProblem:
    """Stewart's platform: thirteen bodies, five independent loops, six degrees of freedom.

    The platform (40 kg) stands on six legs of a cylinder (4 kg) and a rod (2 kg). The data are our own.

    Parameters
    ----------
    coordinates : "joint", "absolute" or "mixed"
        In joint coordinates the platform hangs on the first leg, and the other five are closed by constraints; mixed
        ones give it coordinates of its own.
    drive : "lengths" or "springs"
        "lengths": the lengths of the legs are prescribed such that the platform moves as `PlatformPath` says; the
        reference is exact, by inverse kinematics. "springs": the legs are springs without damping, and the platform
        is let go aside of its equilibrium; energy is conserved.
    energy : with drive="springs", whether the total energy is an invariant of the model.
    t_end : with drive="springs" 0.5 and 1 have reference values.
    """
    check_choice("stewart_platform", "drive", drive, ("lengths", "springs"))
    check_positive("stewart_platform", t_end=t_end)
    driven = drive == "lengths"
    return problem_of(
        stewart_system(drive=drive),
        coordinates,
        title=f"Stewart's platform ({'prescribed lengths' if driven else 'legs are springs'})",
        t_end=t_end,
        known=[(t_end, *joint_values(t_end))] if driven else [(t, _named(p), _named(v)) for t, p, v in _KNOWN_VALUES],
        source=(
            "exact: inverse kinematics"
            if driven
            else "computed by us: DOP853 on the index-1 form in joint and in mixed coordinates, rtol 1e-12 and 1e-13"
        ),
        accuracy=1e-14 if driven else 5e-12,
        energy=energy,
    )


def stewart_system(*, drive: str = "lengths") -> Multibody:
    """Joints "cross1", "slide1", "ball1" … of the legs "cylinder1" and "rod1" … below the body "platform"."""
    mb = Multibody(name="stewart_platform")
    platform = mb.body("platform", 40.0, (4.0, 4.0, 7.5), shape=Plate(1.12 * TOP[:, :2], 0.06, color="#3b7dd8"))
    feet = [Sphere(0.06, position=at, color="#56616f") for at in BASE]
    mb.ground.shape = [Plate(1.15 * BASE[:, :2], 0.06, position=(0, 0, -0.05), color="#aab5c2"), *feet]
    q, _ = joint_values(0.0)
    crosses, slides, balls = [], [], []
    for k in LEGS:
        cylinder = mb.body(f"cylinder{k + 1}", 4.0, (0.15, 0.15, 0.005), (0, 0, 0.3),
                           shape=Cylinder(0.045, 0.8, position=(0, 0, 0.4), color="#434c58"))  # fmt: skip
        rod = mb.body(f"rod{k + 1}", 2.0, (0.08, 0.08, 0.001), (0, 0, -0.35),
                      shape=Cylinder(0.024, 0.8, position=(0, 0, -0.4), color="#d5dde6"))  # fmt: skip
        crosses.append((f"cross{k + 1}", mb.ground, cylinder, BASE[k]))
        slides.append((f"slide{k + 1}", cylinder, rod, k))
        balls.append((f"ball{k + 1}", rod, platform, TOP[k]))
    for name, first, second, at in crosses:
        mb.universal(name, first, second, axis="x", second_axis="y", at=at, q0=q[name], v0=(0.0, 0.0))
    for name, first, second, k in slides:
        if drive == "lengths":
            mb.prismatic(name, first, second, q0=q[name], v0=0.0, drive=LegLength(k))
        else:
            mb.prismatic(name, first, second, q0=q[name], v0=0.0, stiffness=STIFFNESS, rest=1.35)
    for name, first, second, at in balls:
        mb.spherical(name, first, second, to=at, q0=q[name], v0=(0.0, 0.0, 0.0))
    return mb


def _named(values: list[float]) -> JointValues:
    found: dict = {"ball1": values[18:]}
    for k in LEGS:
        found[f"cross{k + 1}"], found[f"slide{k + 1}"] = values[3 * k : 3 * k + 2], values[3 * k + 2]
    return found


class PlatformPath:
    """Where the platform is at time t, and its axes: three angles about z, y and x; at rest at t = 0."""

    def __call__(self, t):
        """Position and rotation matrix."""
        there = 1 - np.cos(2 * t)
        x = np.stack([0.08 + 0.10 * there, -0.05 + 0.08 * np.sin(3 * t) ** 2, HEIGHT + 0.06 * there * np.cos(t)])
        return x, _turned(0.25 * there, 0.10 + 0.12 * np.sin(2 * t) ** 2, -0.05 + 0.10 * there)


def _turned(yaw, pitch, roll):
    cz, sz, cy, sy, cx, sx = (f(a) for a in (yaw, pitch, roll) for f in (np.cos, np.sin))
    return np.stack(
        [
            np.stack([cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx]),
            np.stack([sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx]),
            np.stack([-sy, cy * sx, cy * cx]),
        ]
    )


def _leg(k: int, t):
    """From its joint on the base to that on the platform."""
    x, R = PlatformPath()(t)
    return x + R @ TOP[k] - BASE[k]


class LegLength:
    """Length of a leg that belongs to the path of the platform."""

    def __init__(self, k: int):
        self.k = k

    def __call__(self, t):
        leg = _leg(self.k, t)
        return np.sqrt(leg @ leg)


@forks_wait
def joint_values(t: float) -> tuple[dict, dict]:
    """Values and rates of all joints on the path of the platform: inverse kinematics."""
    time = ca.SX.sym("t")
    now = scalar(time)
    R_platform = to_sx(PlatformPath()(now)[1])[0]
    q: dict = {}
    v: dict = {}
    for k in LEGS:
        leg = to_sx(_leg(k, now))[0]
        length = ca.norm_2(leg)
        n = leg / length
        a, b = ca.atan2(-n[1], n[2]), ca.asin(n[0])  # R_x(a) R_y(b) turns z into n
        ca_, sa, cb, sb = ca.cos(a), ca.sin(a), ca.cos(b), ca.sin(b)
        R_leg = ca.blockcat([[cb, 0, sb], [sa * sb, ca_, -sa * cb], [-ca_ * sb, sa, ca_ * cb]])
        R = ca.mtimes(R_leg.T, R_platform)
        values = ca.vertcat(a, b, length, ca.vec(R))
        found = ca.Function("values", [time], [values, ca.jacobian(values, time)])(t)
        at, rate = (np.array(entries).ravel() for entries in found)
        name = str(k + 1)
        q |= {f"cross{name}": at[:2], f"slide{name}": at[2:3]}
        v |= {f"cross{name}": rate[:2], f"slide{name}": rate[2:3]}
        turned, turning = (entries[3:].reshape(3, 3).T for entries in (at, rate))
        w = turned.T @ turning
        q[f"ball{name}"] = euler_parameters(turned)
        v[f"ball{name}"] = np.array([w[2, 1], w[0, 2], w[1, 0]])
    return q, v
