"""Offsets, index and blocks of systems whose structure is known."""

import copy
import pickle

import numpy as np
import pytest

import dalembert as da
from dalembert.regularize.structure import analyse


def pendulum(**options):
    return da.ImplicitDAE(
        x=["x", "y", "vx", "vy", "lam"],
        residual=lambda s: [
            s.x_dot - s.vx,
            s.y_dot - s.vy,
            s.vx_dot + s.lam * s.x,
            s.vy_dot + s.lam * s.y + 9.81,
            s.x**2 + s.y**2 - 1,
        ],
        **options,
    )


def integrators(n):
    """Chains of n − 1 integrators of which the end is given: index n."""
    names = [f"x{i}" for i in range(n)]
    yield da.ImplicitDAE(
        x=names, residual=lambda s: [*(s.dx[i] - s.x[i + 1] for i in range(n - 1)), s.x[0] - np.sin(s.t)]
    )
    yield da.QuasiLinearDAE(
        x=names,
        leading=np.eye(n)[:-1],
        rhs=lambda s: [s.x[i] for i in range(1, n)],
        constraints=lambda s: [s.x0 - np.sin(s.t)],
    )


def test_pendulum():
    structure = analyse(pendulum())
    assert structure.c.tolist() == [1, 1, 0, 0, 2]
    assert structure.d.tolist() == [2, 2, 1, 1, 0]
    assert structure.index == 3
    assert structure.degrees_of_freedom == 2
    assert structure.differentiated == {1: ("equation 1", "equation 2"), 2: ("equation 5",)}


@pytest.mark.parametrize("n", range(2, 9))
def test_chain_of_integrators(n):
    for model in integrators(n):
        structure = analyse(model)
        assert structure.index == n
        assert structure.degrees_of_freedom == 0
        assert structure.c.tolist() == [*range(n - 2, -1, -1), n - 1]
        assert [rows.tolist() for rows, _ in structure.blocks] == [[n - 1], *([i] for i in range(n - 1))]


def test_ordinary_differential_equations():
    structure = analyse(da.QuasiLinearDAE(x=["a", "b"], rhs=lambda s: [s.b, -s.a]))
    assert structure.index == 0
    assert structure.c.tolist() == [0, 0]
    assert structure.degrees_of_freedom == 2


def test_index_and_structure_of_models():
    model = pendulum()
    assert model.index == 3
    assert model.structure is analyse(model)
    assert pendulum(hidden="given").index == 3


def test_circuit_with_a_loop_of_capacitors():
    """A capacitor on a voltage source: its current follows from the derivative of the voltage, index 2."""
    model = da.ImplicitDAE(
        x=["v1", "v2", "i_source", "i_C"],
        residual=lambda s: [
            s.v1 - np.sin(s.t),
            s.C * s.v1_dot - s.i_C,
            s.C * s.v2_dot + (s.v2 - s.v1) / s.R,
            s.i_source + s.i_C + (s.v1 - s.v2) / s.R,
        ],
        parameters={"C": 1e-6, "R": 1e3},
    )
    structure = analyse(model)
    assert structure.index == 2
    assert structure.c.tolist() == [1, 0, 0, 0]
    assert structure.degrees_of_freedom == 1


def test_robot_with_a_prescribed_path_and_an_elastic_joint():
    """From the path to the motor's torque there are four integrations: index 5."""
    model = da.ImplicitDAE(
        x=["arm", "arm_speed", "motor", "motor_speed", "torque"],
        residual=lambda s: [
            s.arm_dot - s.arm_speed,
            s.arm_speed_dot - 10 * (s.motor - s.arm) + np.cos(s.arm),
            s.motor_dot - s.motor_speed,
            s.motor_speed_dot + 10 * (s.motor - s.arm) - s.torque,
            s.arm - np.sin(s.t),
        ],
    )
    structure = analyse(model)
    assert structure.index == 5
    assert structure.c.tolist() == [3, 2, 1, 0, 4]
    assert structure.degrees_of_freedom == 0


def test_both_kinds_of_models_agree():
    quasi_linear = da.QuasiLinearDAE(
        x=["x", "y", "vx", "vy", "lam"],
        leading=np.eye(5)[:4],
        rhs=lambda s: [s.vx, s.vy, -s.lam * s.x, -s.lam * s.y - 9.81],
        constraints=lambda s: [s.x**2 + s.y**2 - 1],
    )
    first, second = analyse(quasi_linear), analyse(pendulum())
    assert first.c.tolist() == second.c.tolist()
    assert first.equations[-1] == "constraint 1"


def test_leading_matrix_with_unknowns_in_it():
    """In E(x) x' = k the unknowns of E occur, too."""
    model = da.QuasiLinearDAE(x=["a", "b"], leading=lambda s: [[s.b, 0], [0, 0]], rhs=lambda s: [1.0, s.a - s.b])
    assert analyse(model).incidence.matrix().todense().tolist() == [[1, 1], [1, 1]]
    assert analyse(model).incidence.order.tolist() == [1, 0, 0, 0]


def test_what_only_switches_is_no_entry():
    model = da.ImplicitDAE(
        x=["a", "b"],
        residual=lambda s: [s.a_dot - np.where(s.b > 0, 1.0, -1.0) * s.a - np.sign(s.b), s.b - s.a],
    )
    assert analyse(model).incidence.row(0).tolist() == [0]


def test_chosen_rows():
    model = da.QuasiLinearDAE(
        x=["x", "y", "vx", "vy", "lam"],
        leading=np.eye(5)[:4],
        rhs=lambda s: [s.vx, s.vy, -s.lam * s.x, -s.lam * s.y - 9.81],
        constraints=lambda s: [
            s.x**2 + s.y**2 - 1,
            s.x * s.vx + s.y * s.vy,
            s.vx**2 + s.vy**2 - s.lam * (s.x**2 + s.y**2) - 9.81 * s.y,
        ],
    )
    assert analyse(model).index == 3
    assert analyse(model, rows=[0, 1, 2, 3, 5]).index == 2
    assert analyse(model, rows=[0, 1, 2, 3, 6]).index == 1
    assert analyse(model, rows=[0, 1, 2, 3, 6]).equations[-1] == "constraint 3"


def test_structure_is_made_once_and_shared_by_variants():
    model = da.ImplicitDAE(x=["a"], residual=lambda s: [s.a_dot + s.k * s.a], parameters={"k": 1.0})
    assert analyse(model) is analyse(model.replace(parameters={"k": 2.0}))


def test_functions_in_python_are_named():
    with pytest.warns(da.UntraceableWarning):
        model = da.QuasiLinearDAE(x=["a"], rhs=lambda s: [float(s.a)])
    with pytest.raises(da.ModelError, match="rhs= runs as Python code"):
        analyse(model)
    assert model.structure is None
    assert model.index is None


def test_equations_of_motion_are_refused():
    with pytest.raises(da.ModelError, match="for DAEs"):
        analyse(da.problems.pendulum().model)


# -- the keyword ---------------------------------------------------------------------------------------------------


def test_hidden_is_kept_by_copies_variants_and_pickles():
    for model in (pendulum(hidden="given"), da.QuasiLinearDAE(x=["a"], rhs=lambda s: [s.a], hidden="given")):
        assert model.hidden == "given"
        for twin in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            assert twin.hidden == "given"
    assert pendulum().hidden == "auto"


def test_models_that_differ_in_it_share_nothing_when_they_arrive():
    one = pickle.loads(pickle.dumps(pendulum(hidden="given")))
    other = pickle.loads(pickle.dumps(pendulum(hidden="auto")))
    assert one.kept is not other.kept
    assert (one.hidden, other.hidden) == ("given", "auto")


@pytest.mark.parametrize("hidden", ["automatic", None, 1, ["auto"], np.array(["auto"])])
def test_wrong_values_of_hidden(hidden):
    with pytest.raises(da.ModelError, match="'auto', 'given'"):
        pendulum(hidden=hidden)
