"""Redundant constraints: found, named, left out; reactions that are not unique are the smallest ones."""

import casadi as ca
import numpy as np
import pytest
from linkages import bricard, door, four_bar, parallelogram, random_loop, stewart

import dalembert as da
from dalembert.errors import DalembertError, ModelError, OptionError
from dalembert.solvers import METHODS

MECHANISMS = {
    "four bar": (lambda: four_bar(1.0, 3.0, 2.5, 3.0, spatial=True), {"motor.angle": 1.0, "motor.speed": 1.0}, 1, 3),
    "parallelogram": (parallelogram, {"base0.angle": 1.0}, 1, 1),
    "bricard": (bricard, {}, 1, 1),
    "door": (door, {"hinge0.angle": 0.3, "hinge0.speed": 1.0}, 1, 5),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_redundant_constraints_are_counted_and_named(name):
    make, known, mobility, redundant = MECHANISMS[name]
    mb = make()
    report = mb.redundancy(known)
    assert (report.mobility, len(report.redundant)) == (mobility, redundant)
    assert report.constraints - report.rank == redundant
    assert bool(report)
    assert f"{redundant} constraint" in str(report)
    # rank by other means: of the constraint matrix in absolute coordinates, by differences
    assembly = mb.assemble(known, "absolute")
    G = constraint_matrix(mb.equations("absolute", known=known, redundant="keep"), assembly)
    rank = np.linalg.matrix_rank(G, tol=1e-5)
    assert G.shape[1] - rank == mobility
    kept = mb.equations("absolute", known=known)
    assert len(kept.names("lam")) == rank
    assert np.linalg.matrix_rank(constraint_matrix(kept, assembly), tol=1e-5) == rank


def constraint_matrix(model, assembly):
    """Derivatives of the constraints along velocities, by central differences."""
    p = model.graph.symbol["p"]
    g = ca.Function("g", [p], [model.graph.functions["holonomic"].sx])
    Z = np.eye(len(assembly.v))
    if "kinematics" in model.graph.functions:
        Z = ca.Function("Z", [p], [model.graph.functions["kinematics"].sx])(assembly.p).full()
        Z = Z.reshape(len(assembly.p), -1) if Z.shape[1] == 1 else Z
    h = 1e-6
    return np.hstack([(g(assembly.p + h * z) - g(assembly.p - h * z)).full() / (2 * h) for z in Z.T])


@pytest.mark.parametrize("method", [name for name in METHODS if name != "moreaujean"])  # which needs a step size
@pytest.mark.parametrize("name", MECHANISMS)
def test_all_methods_run_on_models_without_redundant_constraints(name, method):
    make, known, _, _ = MECHANISMS[name]
    mb = make()
    end = {}
    # Odassl needs constraints, and the door has none but in absolute coordinates
    sets = ("absolute",) if (name, method) == ("door", "odassl") else ("joint", "absolute")
    for coordinates in sets:
        model = mb.equations(coordinates, known=known)
        solution = da.simulate(model, (0, 0.3), method=METHODS[method](), rtol=1e-7, atol=1e-7)
        body = mb.bodies[0].name
        end[coordinates] = solution[f"{body}.com"][-1]
        energy = solution["energy.total"]
        assert np.ptp(energy) < 1e-4 * max(1.0, np.abs(energy).max())
    assert end[sets[0]] == pytest.approx(end[sets[-1]], abs=1e-5)


def test_bricard_meets_its_reference():
    problem = da.problems.bricard(t_end=2.0)
    for coordinates in ("joint", "absolute", "mixed"):
        model = bricard().equations(coordinates)
        solution = da.simulate(model, (0, 2.0), rtol=1e-8, atol=1e-8)
        angles = [solution[f"j{k}.angle"][-1] for k in range(1, 6)]
        assert angles == pytest.approx(problem.reference.p, abs=1e-6)


def test_models_that_keep_everything_run_with_svd():
    mb = bricard()
    model = mb.equations("joint", redundant="keep")
    assert len(model.names("lam")) == 5
    solution = da.simulate(model, (0, 1.0), method=da.Geoms(algebraic="svd"), rtol=1e-7, atol=1e-7)
    assert solution["j1.angle"][-1] == pytest.approx(1.035028459518062182, abs=1e-5)
    with pytest.raises(DalembertError):
        da.simulate(model, (0, 1.0), method=da.Hem5())
    with pytest.raises(OptionError, match="redundant"):
        mb.equations(redundant="leave")


@pytest.mark.parametrize("coordinates", ["joint", "absolute", "mixed"])
def test_reactions_of_a_door_are_the_smallest(coordinates):
    """By hand: of all wrenches of two hinges that hold the leaf, the least in forces and torques over a length."""
    mb = door()
    model = mb.equations(coordinates, known={"hinge0.angle": 0.3})
    solution = da.simulate(model, (0, 0.2), rtol=1e-9, atol=1e-9)
    at = solution.at(0.2)
    found = [np.concatenate([at[f"hinge{k}.force"], at[f"hinge{k}.torque"]]) for k in range(2)]
    # balance of momentum, at a point of the axis: the sum of both is unique
    a, alpha, w = (at[f"leaf.{part}"] for part in ("acceleration", "angular_acceleration", "angular_velocity"))
    R = at["leaf.orientation"]
    c = R @ [0.5, 0.1, 1.0]
    a = a + np.cross(alpha, c) + np.cross(w, np.cross(w, c))
    J = R @ np.diag([6.7, 8.2, 1.6]) @ R.T
    force = 20.0 * (a - [0, 0, -9.81])
    torque = J @ alpha + np.cross(w, J @ w) + np.cross(c, force)
    arms = [np.array([0, 0, 0.3]), np.array([0, 0, 1.0])]
    total = sum(f[:3] for f in found)
    moment = sum(f[3:] + np.cross(r, f[:3]) for f, r in zip(found, arms, strict=True))
    assert total == pytest.approx(force, abs=1e-6)
    assert moment == pytest.approx(torque, abs=1e-6)
    # the least of them, by minimization; torques about the axis vanish
    length = 1.0
    skew = [np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]]) for r in arms]
    A = np.block([[np.eye(3), np.zeros((3, 2)), np.eye(3), np.zeros((3, 2))],
                  [skew[0], length * np.eye(3)[:, :2], skew[1], length * np.eye(3)[:, :2]]])  # fmt: skip
    least = np.linalg.lstsq(A, np.concatenate([force, torque]), rcond=None)[0]
    for k in range(2):
        assert found[k][:3] == pytest.approx(least[5 * k : 5 * k + 3], abs=1e-5)
        assert found[k][3:5] == pytest.approx(length * least[5 * k + 3 : 5 * k + 5], abs=1e-5)


def test_reactions_agree_in_all_coordinates():
    """Also where a force out of the plane makes those that are not unique differ from zero."""
    mb = four_bar(1.0, 3.0, 2.5, 3.0, spatial=True)
    mb.force("push", mb.bodies[1].frame(at=(1.0, 0, 0)), (0, 0, 3.0), (1.0, 2.0, 0.0))
    known = {"motor.angle": 1.0, "motor.speed": 1.0}
    at = [da.simulate(mb.equations(c, known=known), (0, 0.2), rtol=1e-9, atol=1e-9).at(0.2)
          for c in ("joint", "absolute", "mixed")]  # fmt: skip
    assert abs(at[0]["pin.force"][2]) > 0.1
    for joint in ("motor", "elbow", "base", "pin"):
        for other in at[1:]:
            assert other[f"{joint}.force"] == pytest.approx(at[0][f"{joint}.force"], abs=1e-5)
            assert other[f"{joint}.torque"] == pytest.approx(at[0][f"{joint}.torque"], abs=1e-5)
    report = mb.redundancy(known)
    assert report.not_unique["pin"] == ("force z", "torque x", "torque y")


def test_nothing_is_redundant_where_nothing_is():
    for mb, known in (
        (four_bar(1.0, 3.0, 2.5, 3.0), {"motor.angle": 1.0}),
        (stewart()[0], {"platform.position": (0, 0, 1.0), "platform.orientation": (0.1, 0, 0.2)}),
        (random_loop(np.random.default_rng(1), ("revolute",) * 7)[0], None),
    ):
        report = mb.redundancy(known)
        assert not report
        assert report.not_unique == {}
        assert "no constraint is redundant" in str(report)
    assert four_bar(1.0, 3.0, 2.5, 3.0).redundancy().mobility == 1
    tree = da.Multibody()
    tree.revolute("j", tree.ground, tree.body("b", 1.0, (1, 1, 1)))
    assert (tree.redundancy().constraints, tree.redundancy().mobility) == (0, 1)


def test_rows_that_are_needed_elsewhere_are_not_left_out():
    """Assembled where a parallelogram is flat all its rows depend on each other, but only there."""
    mb = parallelogram(cranks=2)
    report = mb.redundancy({"base0.angle": 0.0, "base1.angle": 0.0})
    assert not report.redundant
    assert report.mobility == 1
    # three cranks whose pins are not in one line: one row can go, and in no position are the others dependent
    report = parallelogram(offset=0.7).redundancy({"base0.angle": 0.4})
    assert len(report.redundant) == 1
    assert report.mobility == 1


def test_several_loops_are_told_apart():
    mb = door(hinges=3)
    leaf = mb.body("window", 1.0, (0.1, 0.1, 0.1), com=(0.2, 0, 0))
    for k in range(2):
        mb.revolute(f"latch{k}", mb.bodies[0], leaf, at=(0.5, 0, 0.2 * k), to=(0, 0, 0.2 * k))
    report = mb.redundancy()
    assert len(report.redundant) == 15
    assert {frozenset(loop.joints) for loop in report.loops} == {
        frozenset(("hinge0", "hinge1")), frozenset(("hinge0", "hinge2")), frozenset(("latch0", "latch1")),
    }  # fmt: skip
    assert set(report.not_unique) == {"hinge0", "hinge1", "hinge2", "latch0", "latch1"}
    assert report.mobility == 2


def test_what_is_driven_twice_is_refused():
    mb = four_bar(1.0, 3.0, 2.5, 3.0)
    angle = mb.assemble({"motor.angle": 1.0})["base.angle"]
    for joint, value in ((mb.joints[0], 1.0), (mb.joints[2], angle)):
        joint.drive = f"{joint.name}.drive"
        mb.inputs[joint.drive] = lambda t, value=value: value
    assert set(mb.redundancy().driven_twice) == {"motor", "base"}
    with pytest.raises(ModelError, match="motor, base prescribe what other constraints prescribe already"):
        mb.equations()


def test_parameters_may_stand_in_redundant_systems():
    mb = da.Multibody()
    leaf = mb.body("leaf", mass=mb.parameter("m", 20.0), inertia=(6.7, 8.2, 1.6), com=(0.5, 0.1, 1.0))
    for k in range(2):
        mb.revolute(f"hinge{k}", mb.ground, leaf, at=(0, 0, float(k)), to=(0, 0, float(k)))
    for coordinates in ("joint", "absolute"):
        model = mb.equations(coordinates)
        weight = sum(da.simulate(model, (0, 0.1)).at(0.0)[f"hinge{k}.force"][2] for k in range(2))
        assert weight == pytest.approx(20.0 * 9.81, rel=1e-9)
