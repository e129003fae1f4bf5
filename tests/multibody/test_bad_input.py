"""Bad descriptions: always an exception of ours that names the body or joint, and a system that is as it was before."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import dalembert as da
from dalembert.checks import said
from fuzz.hostile import HOSTILE

OPTIONS = (
    "axis", "at", "to", "rotation", "rotation_to", "q0", "v0", "drive", "damping", "stiffness", "rest", "limits", "cut",
)  # fmt: skip
SPATIAL = ("revolute", "prismatic", "screw", "cylindrical", "universal", "spherical", "plane", "free", "fixed")
PLANAR = ("revolute", "prismatic", "pin_in_slot", "plane", "fixed", "rolling_disc", "free")
NEEDED = {"screw": {"pitch": 0.1}, "rolling_disc": {"radius": 0.2}}


def system(planar):
    mb = da.Multibody(planar=planar)
    still = 1.0 if planar else (1.0, 1.0, 1.0)
    one, two = mb.body("one", 1.0, still), mb.body("two", 1.0, still)
    mb.revolute("hinge", mb.ground, one)
    return mb, one, two


def state(mb):
    return (
        list(mb.bodies), list(mb.joints), list(mb.elements), dict(mb.parameters), dict(mb.inputs), dict(mb._names),
        [(joint.counted, joint.q0) for joint in mb.joints],
    )  # fmt: skip


def answer(mb, call, value, builds):
    """What is wrong with what a call does with a hostile value; None if nothing is."""
    before = state(mb)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call(value)
        except da.DalembertError as error:
            text = str(error)
            if not text.strip():
                return "an error without text"
            if state(mb) != before:
                return "the system has changed"
        except Exception as error:
            return f"{type(error).__module__}.{said(error)[:80]}"
        else:
            try:
                (mb.equations if builds else list)()
            except da.DalembertError:
                pass
            except Exception as error:
                return f"building: {type(error).__module__}.{said(error)[:80]}"
    foreign = [str(w.message)[:80] for w in caught if not issubclass(w.category, da.UntraceableWarning)]
    return f"warns {foreign}" if foreign else None


def hashable(value):
    try:
        hash(value)
    except TypeError:
        return None
    return value


def entries(planar):
    """Every argument of every method, as a function of a system and a value."""
    dim = 2 if planar else 3
    zero, still = np.zeros(dim), 1.0 if planar else (1.0, 1.0, 1.0)
    found = {"Multibody(gravity)": lambda mb, x: da.Multibody(gravity=x, planar=planar)}
    found["Multibody(planar)"] = lambda mb, x: da.Multibody(planar=x)
    found["Multibody(name)"] = lambda mb, x: da.Multibody(name=x)
    for option in ("mass", "inertia", "com", "position", "orientation"):
        found[f"body({option})"] = lambda mb, x, option=option: mb.body(
            "new", **{"mass": 1.0, "inertia": still, option: x}
        )
    found["body(entry of com)"] = lambda mb, x: mb.body("new", 1.0, still, [x] * dim)
    found["body(entry of inertia)"] = lambda mb, x: mb.body("new", 1.0, [x, 1.0, 1.0])
    found["body(entry of the matrix)"] = lambda mb, x: mb.body("new", 1.0, [[x, 0, 0], [0, 1, 0], [0, 0, 1]])
    found["body(name)"] = lambda mb, x: mb.body(x, 1.0, still)
    found["parameter(value)"] = lambda mb, x: mb.parameter("new", x)
    found["parameter(name)"] = lambda mb, x: mb.parameter(x, 1.0)
    found["input(name)"] = lambda mb, x: mb.input(x, lambda t: t)
    found["input(function)"] = lambda mb, x: mb.input("new", x)
    found["frame(at)"] = lambda mb, x: mb.bodies[0].frame(at=x)
    found["frame(rotation)"] = lambda mb, x: mb.bodies[0].frame(rotation=x)
    found["frame of a frame"] = lambda mb, x: mb.bodies[0].frame(at=zero).frame(at=x)
    for kind in PLANAR if planar else SPATIAL:
        more = NEEDED.get(kind, {})
        for option in (*OPTIONS, *more, *(("second_axis",) if kind == "universal" else ()), "nonsense"):
            found[f"{kind}({option})"] = lambda mb, x, kind=kind, option=option, more=more: getattr(mb, kind)(
                "new", *mb.bodies, **{**more, option: x}
            )
        found[f"{kind}(name)"] = lambda mb, x, kind=kind, more=more: getattr(mb, kind)(x, *mb.bodies, **more)
        found[f"{kind}(first)"] = lambda mb, x, kind=kind, more=more: getattr(mb, kind)("new", x, mb.bodies[1], **more)
        found[f"{kind}(second)"] = lambda mb, x, kind=kind, more=more: getattr(mb, kind)("new", mb.ground, x, **more)
    ends = {"first": 0, "second": 1}
    for method, arguments in {
        "spring": {"stiffness": 1.0, "damping": 1.0, "length": 1.0},
        "bushing": {"stiffness": 1.0, "rotational": 1.0, "damping": 1.0, "rotational_damping": 1.0},
    }.items():
        for which in (*ends, *arguments):

            def call(mb, x, method=method, arguments=arguments, which=which):
                parts = {"first": mb.bodies[0], "second": mb.bodies[1]} | arguments
                getattr(mb, method)("new", **{**parts, which: x})

            found[f"{method}({which})"] = call
    for method, arguments in {
        "torsion": {"stiffness": 1.0, "damping": 1.0, "rest": 1.0},
        "friction": {"coulomb": 1.0, "viscous": 1.0, "stiction": 1.0, "stribeck": 1.0, "smoothing": 1.0},
        "actuator": {"command": 1.0, "time_constant": 1.0},
    }.items():
        for which in ("joint", "name", *arguments):

            def call(mb, x, method=method, arguments=arguments, which=which):
                getattr(mb, method)(**{"name": "new", "joint": "hinge", **arguments, which: x})

            found[f"{method}({which})"] = call
    for which in ("states", "dynamics", "force"):
        given_states = {"states": {"i": 0.0}, "dynamics": lambda s: [0.0], "force": lambda s: 1.0}
        found[f"actuator({which})"] = lambda mb, x, which=which, g=given_states: mb.actuator(
            "new", "hinge", **{**g, which: x}
        )
        found[f"actuator({which} alone)"] = lambda mb, x, which=which: mb.actuator("new", "hinge", **{which: x})
    found["actuator(name of a state)"] = lambda mb, x: mb.actuator(
        "new", "hinge", states={hashable(x): 0.0}, dynamics=lambda s: [0.0], force=lambda s: 1.0
    )
    for which in ("frame", "force", "torque", "local"):
        found[f"force({which})"] = lambda mb, x, which=which: mb.force(
            "new", **{"frame": mb.bodies[0], "force": zero, which: x}
        )
    found["force(result of the function)"] = lambda mb, x: mb.force("new", mb.bodies[0], lambda s: x)
    found["force(entry of the result)"] = lambda mb, x: mb.force("new", mb.bodies[0], lambda s: [x] * dim)
    for which in ("frame", "coefficient", "linear", "wind"):
        found[f"drag({which})"] = lambda mb, x, which=which: mb.drag(
            "new", **{"frame": mb.bodies[0], "coefficient": 1.0, which: x}
        )

    def coupled(method, **options):
        def call(mb, x):
            mb.revolute("other", mb.ground, mb.bodies[1])
            getattr(mb, method)("new", **{k: x if v is Ellipsis else v for k, v in options.items()})

        return call

    found["coupling(ratio)"] = coupled("coupling", joint="hinge", other="other", ratio=...)
    found["coupling(offset)"] = coupled("coupling", joint="hinge", other="other", offset=...)
    found["coupling(joint)"] = coupled("coupling", joint=..., other="other")
    found["coupling(other)"] = coupled("coupling", joint="hinge", other=...)
    found["gear(teeth)"] = coupled("gear", joint="hinge", other="other", teeth=..., other_teeth=3)
    found["gear(inner)"] = coupled("gear", joint="hinge", other="other", teeth=2, other_teeth=3, inner=...)
    found["rack(radius)"] = coupled("rack", slider="hinge", wheel="other", radius=...)
    for option in ("coordinates", "formalism"):
        found[f"equations({option})"] = lambda mb, x, option=option: mb.equations(**{option: x})
    found["equations(absolute)"] = lambda mb, x: mb.equations("mixed", absolute=x)
    return found


def faults(planar, chosen, builds):
    """What is wrong, by entry and hostile value."""
    wrong = {}
    for entry, call in entries(planar).items():
        if entry.split("(")[0] != chosen:
            continue
        for name, make in HOSTILE.items():
            mb, *_ = system(planar)
            fault = answer(mb, lambda x, mb=mb, call=call: call(mb, x), make(), builds)
            # couplings need a second joint, which is there before they are refused
            if fault and not (fault == "the system has changed" and chosen in ("coupling", "gear", "rack")):
                wrong[entry, name] = fault
    return wrong


METHODS = [(planar, name) for planar in (True, False) for name in sorted({e.split("(")[0] for e in entries(planar)})]


@pytest.mark.parametrize(("planar", "method"), METHODS)
def test_every_argument_with_every_hostile_value(planar, method):
    assert not faults(planar, method, builds=method in ("input", "actuator", "force"))


@pytest.mark.slow
@pytest.mark.parametrize(("planar", "method"), METHODS)
def test_what_is_accepted_can_be_built_or_is_refused_then(planar, method):
    assert not faults(planar, method, builds=True)


# -- messages --------------------------------------------------------------------------------------------------------


def spatial():
    mb, one, two = system(False)
    return {"mb": mb, "one": one, "two": two, "ground": mb.ground}


REFLECTION = np.diag([1.0, 1.0, -1.0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("mb.revolute('j', one, one)", "joint 'j': both ends are on 'one'"),
        ("mb.revolute('j', one, one.frame(at=(1, 0, 0)))", "joint 'j': both ends are on 'one'"),
        ("mb.revolute('hinge', one, two)", "'hinge'.* belongs to joint 'hinge' already"),
        ("mb.body('one', 1.0)", "'one'.* belongs to body 'one' already"),
        ("mb.body('hinge', 1.0)", "'hinge'.* belongs to joint 'hinge' already"),
        ("mb.body('ground', 1.0)", "'ground'.* belongs to the ground"),
        ("mb.body('a.b', 1.0)", "'a.b'.*must not contain a dot"),
        ("mb.body('', 1.0)", "body: '' is not a name"),
        ("mb.body('b', -1.0)", "body 'b': mass=-1 must not be negative"),
        ("mb.body('b', float('nan'))", "body 'b': mass=nan must be finite"),
        ("mb.body('b', 1.0, (1, 1, 3))", "body 'b'.*1, 1, 3 violate the triangle inequality"),
        ("mb.body('b', 1.0, (-1, 1, 1))", "body 'b'.*negative"),
        ("mb.body('b', 1.0, [[1, 1, 0], [0, 1, 0], [0, 0, 1]])", "body 'b'.*not symmetric"),
        ("mb.body('b', 1.0, (1, 1))", "body 'b'.*three moments or a 3×3 matrix"),
        ("mb.body('b', 1.0, (1, 1, 1), com=(1, 2))", "body 'b'.*com.*2 components"),
        ("mb.revolute('j', one, 'two')", "joint 'j'.*second='two' must be a body.*mb.body"),
        ("mb.revolute('j', one, None)", "joint 'j'.*second=None must be a body"),
        ("mb.revolute('j', one, two, axis=(0, 0, 0))", "joint 'j'.*axis is the zero vector"),
        ("mb.revolute('j', one, two, axis='w')", "joint 'j'.*axis='w' must be 'x', 'y', 'z'"),
        ("mb.revolute('j', one, two, rotation=2 * np.eye(3))", "joint 'j'.*not orthogonal"),
        ("mb.revolute('j', one, two, rotation=REFLECTION)", "joint 'j'.*reflection"),
        ("mb.revolute('j', one, two, q0=(1, 2))", "joint 'j'.*q0.*must have 1 component$"),
        ("mb.universal('j', one, two, q0=1.0)", "joint 'j'.*q0.*must have 2 components"),
        ("mb.spherical('j', one, two, q0=(1, 1, 0, 0))", "joint 'j'.*Euler parameters.*length 1"),
        ("mb.spherical('j', one, two, q0=(1, 0, 0))", "joint 'j'.*4 components"),
        ("mb.universal('j', one, two, axis='x', second_axis='x')", "joint 'j'.*perpendicular"),
        ("mb.universal('j', one, two, damping=1.0)", "joint 'j'.*damping= is for joints with one freedom"),
        ("mb.universal('j', one, two, drive=np.sin)", "joint 'j'.*several coordinates.*angle1, angle2"),
        ("mb.revolute('j', one, two, axes='x')", "joint 'j'.*no axes=; did you mean axis="),
        ("mb.revolute('j', one, two, pitch=1.0)", "joint 'j'.*takes no pitch="),
        ("mb.revolute('j', one, two, limits=(1, -1))", "joint 'j'.*wrong order"),
        ("mb.pin_in_slot('j', one, two)", "joint 'j'.*planar systems"),
        ("mb.rolling_disc('j', one, two, radius=1.0)", "joint 'j'.*planar systems"),
        ("mb.torsion('t', 'hing', 1.0)", "torsion 't'.*no joint 'hing'; did you mean 'hinge'"),
        ("mb.torsion('t', mb.spherical('ball', one, two), 1.0)", "torsion 't'.*'ball' is spherical and has 3 freedoms"),
        ("mb.torsion('t', da.Multibody().ground, 1.0)", "torsion 't'.*not a joint of this system"),
        ("mb.spring('s', one, one, 1.0)", "spring 's'.*both ends are on 'one'"),
        ("mb.bushing('s', one, one, 1.0, 1.0)", "bushing 's'.*both ends are on 'one'"),
        ("mb.spring('s', one, two, 1.0, -1.0)", "spring 's'.*damping=-1 must not be negative"),
        ("mb.force('f', ground, (1, 0, 0))", "force 'f'.*ground"),
        ("mb.drag('d', ground, 1.0)", "drag 'd'.*ground"),
        ("mb.force('f', one)", "force 'f'.*force= or torque="),
        ("mb.coupling('c', 'hinge', 'hinge')", "coupling 'c'.*'hinge' with itself"),
        ("mb.gear('g', 'hinge', 'hinge', 0, 1)", "gear 'g'.*teeth=0 must be positive"),
        ("mb.actuator('m', 'hinge', time_constant=0.0)", "actuator 'm'.*time_constant=0 must be positive"),
        ("mb.actuator('m', 'hinge', states={'a': 0.0})", "actuator 'm'.*dynamics= and force="),
        ("mb.actuator('m', 'hinge', force=np.sin)", "actuator 'm'.*need states="),
        ("mb.friction('r', 'hinge', -1.0)", "friction 'r'.*coulomb=-1 must not be negative"),
        ("mb.equations('polar')", "coordinates='polar' must be one of joint, absolute, mixed"),
        ("mb.equations('joint', absolute=['one'])", "absolute= names bodies for coordinates='mixed'"),
        ("mb.equations('mixed', absolute=['three'])", "'three' is none"),
        ("mb.equations('absolute', formalism='explicit')", "explicit.*without constraints"),
    ],
)  # fmt: skip
def test_messages_name_the_part_and_the_remedy(call, message):
    with pytest.raises(da.DalembertError, match=message):
        eval(call, {"np": np, "da": da, "REFLECTION": REFLECTION}, spatial())


def test_parts_of_another_system_are_refused():
    mb, one, _ = system(False)
    other, stranger, _ = system(False)
    for call in (
        lambda: mb.revolute("j", one, stranger),
        lambda: mb.revolute("j", other.ground, one),
        lambda: mb.spring("s", one, stranger.frame(at=(1, 0, 0)), 1.0),
        lambda: mb.force("f", stranger, (0, 0, 1)),
    ):
        with pytest.raises(da.ModelError, match="another Multibody"):
            call()
    with pytest.raises(da.ModelError, match="not a joint of this system"):
        mb.torsion("t", other.joints[0], 1.0)


def test_parameters_of_another_system_are_refused():
    mb, one, two = system(False)
    stranger = da.Multibody().parameter("m", 1.0)
    for call in (
        lambda: mb.body("b", stranger),
        lambda: mb.body("b", 1.0, (stranger, 1.0, 1.0)),
        lambda: mb.spring("s", one, two, stranger),
        lambda: mb.revolute("j", one, two, at=(stranger, 0, 0)),
    ):
        with pytest.raises(da.ModelError, match=r"parameter 'm'.*mb\.parameter"):
            call()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda mb: None, "has no bodies"),
        (lambda mb: mb.body("b"), "body 'b' is free.*has mass"),
        (lambda mb: mb.body("b", 1.0), "body 'b' is free.*inertia"),
        (lambda mb: mb.revolute("j", mb.ground, mb.body("b")), "body 'b' is moved by a joint.*mass"),
        (lambda mb: mb.revolute("j", mb.ground, mb.body("b", 1.0)), "body 'b' is moved by a joint.*inertia"),
        (lambda mb: mb.spherical("j", mb.ground, mb.body("b", 1.0, com=(1, 0, 0))), "body 'b'.*inertia"),
        (lambda mb: mb.prismatic("j", mb.ground, mb.body("b", 0.0, (1, 1, 1))), "body 'b' is moved by a joint.*mass"),
    ],
)
def test_freedoms_without_inertia(build, message):
    mb = da.Multibody()
    build(mb)
    with pytest.raises(da.ModelError, match=message):
        mb.equations()


def test_rejected_joint_leaves_nothing_behind():
    mb, one, two = system(False)
    before = state(mb)
    with pytest.raises(da.ModelError, match="limits"):
        mb.revolute("j", one, two, drive=np.sin, limits=(1, 0))
    with pytest.raises(da.ModelError, match="stiffness"):
        mb.torsion("t", "hinge", float("nan"))
    with pytest.raises(da.ModelError, match="ratio"):
        mb.coupling("c", "hinge", mb.revolute("other", mb.ground, two), ratio="x")
    assert state(mb)[2:5] == before[2:5]
    assert [joint.counted for joint in mb.joints] == [False, False]


# -- by chance -------------------------------------------------------------------------------------------------------

numbers = st.floats(allow_nan=True, allow_infinity=True) | st.integers() | st.none() | st.text(max_size=3)


@settings(max_examples=150, deadline=None)
@given(st.lists(numbers, max_size=4), st.lists(numbers, max_size=4), numbers)
def test_vectors_by_chance(at, inertia, mass):
    mb = da.Multibody()
    try:
        body = mb.body("b", mass, inertia, at)
    except da.DalembertError as error:
        assert "'b'" in str(error)  # noqa: PT017
        return
    assert np.isfinite(body.com).all()
    assert np.isfinite(body.inertia).all()
    assert body.mass >= 0
    a, b, c = np.array(body.inertia)[[0, 3, 5]]
    largest = max(a, b, c)
    assert a + b + c >= 2 * largest * (1 - 1e-8)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-4, 4), min_size=3, max_size=3), st.floats(-1e-3, 1e-3), st.integers(0, 8))
def test_rotations_by_chance(turn, fault, where):
    R = Rotation.from_rotvec(turn).as_matrix()
    R[where // 3, where % 3] += fault
    mb = da.Multibody()
    body = mb.body("b", 1.0, (1, 1, 1))
    away = np.abs(R @ R.T - np.eye(3)).max()
    try:
        frame = body.frame(rotation=R)
    except da.DalembertError as error:
        assert "'b'" in str(error)  # noqa: PT017
        assert away > 1e-6
    else:
        assert away <= 1e-6
        assert np.abs(frame.rotation @ frame.rotation.T - np.eye(3)).max() < 1e-14
        assert np.abs(frame.rotation - R).max() < 1e-5
