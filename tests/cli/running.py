"""Commands run in this process, and files that examples speak of."""

import json
import textwrap

from typer.testing import CliRunner

from dalembert.cli import app


def runner() -> CliRunner:
    try:
        return CliRunner(mix_stderr=False)  # of older versions
    except TypeError:
        return CliRunner()


def run(*arguments: object, env: dict | None = None):
    """The result of a command; whatever is not an exit code is a bug."""
    result = runner().invoke(app, [str(a) for a in arguments], env=env)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def fails(*arguments: object, code: int = 1) -> str:
    """The message of a command that must fail: one of ours, and no traceback."""
    result = run(*arguments)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    assert "error: " in result.stderr
    return result.stderr


def document(*arguments: object, code: int = 0) -> dict:
    """What --json prints, which is one document and nothing else."""
    result = run(*arguments, "--json")
    assert result.exit_code == code, result.output
    found = json.loads(result.stdout)
    assert list(found) == ["schema", "dalembert", "command", "exit_code", "result", "error", "warnings"]
    assert found["schema"] == 1
    assert found["exit_code"] == code
    return found


#: files that the examples of help texts and of the documentation speak of
FILES = {
    "mine.py": """
        import dalembert as da
        from dalembert.problems import Problem

        rod = da.EquationsOfMotion(
            name="rod", p=["x", "y"], parameters={"L": 1.0}, mass=[1, 1], force=[0, -9.81],
            holonomic=lambda s: [s.x**2 + s.y**2 - s.L**2], outputs={"height": lambda s: s.y + s.L})
        swing = Problem(name="swing", title="My pendulum", model=rod, p0=[1, 0], v0=[0, 0], t_end=1.0)
        low = da.Event(lambda s: s.y + 0.5, name="low")
        number = 42

        def longer(factor=2):
            return Problem(name="longer", title="Longer", model=rod, p0=[1, 0], v0=[0, 0], t_end=1.0 * factor)

        def broken():
            return 1 / 0
    """,
    "Pendulum.mo": """
        model Pendulum "nothing differentiated"
          parameter Real L(unit = "m") = 1 "length";
          parameter Real g = 9.81;
          Real x(start = L), y(start = 0), vx, vy, F;
        equation
          der(x) = vx;
          der(y) = vy;
          der(vx) = -F*x;
          der(vy) = -F*y - g;
          x^2 + y^2 = L^2;
          annotation(experiment(StopTime = 1));
        end Pendulum;
    """,
    "Circuits.mo": """
        package Circuits
          model LowPass
            parameter Real R = 2, C = 0.5;
            input Real u = 1;
            Real v(start = 0, fixed = true);
          equation
            C*der(v) = (1 - v)/R;
          end LowPass;
          model Filter
            input Real u;
            Real v(start = 0, fixed = true);
          equation
            der(v) = u - v;
          end Filter;
        end Circuits;
    """,
    "arm.urdf": """
        <robot name="arm">
          <link name="base"/>
          <link name="upper">
            <inertial> <origin xyz="0 0 -0.5"/> <mass value="2"/> <inertia ixx="0.2" iyy="0.2" izz="0.01"/> </inertial>
            <visual> <origin xyz="0 0 -0.5"/> <geometry> <cylinder radius="0.05" length="1"/> </geometry> </visual>
          </link>
          <link name="lower">
            <inertial> <origin xyz="0 0 -0.4"/> <mass value="1"/> <inertia ixx="0.1" iyy="0.1" izz="0.01"/> </inertial>
          </link>
          <joint name="shoulder" type="continuous">
            <parent link="base"/> <child link="upper"/> <axis xyz="0 1 0"/>
          </joint>
          <joint name="elbow" type="continuous">
            <parent link="upper"/> <child link="lower"/> <origin xyz="0 0 -1"/> <axis xyz="0 1 0"/>
          </joint>
        </robot>
    """,
    "cases.csv": "g,m\n9.81,1\n1.62,1\n9.81,2\n",
    "wind.csv": "time,u\n0,0\n1,0.5\n2,1\n3,0\n",
    "values.json": '{"L": 2.0, "g": 1.62}',
}  # fmt: skip


def lay_out(folder) -> None:
    """Write these files."""
    for name, text in FILES.items():
        (folder / name).write_text(textwrap.dedent(text).lstrip())


def first_section(monkeypatch):
    """Let reproductions end after their first section."""
    from dalembert import studies
    from dalembert.studies.reproduce import reproduce

    def short(name, *, quick):
        for section in reproduce(name, quick=quick):
            yield section
            return

    monkeypatch.setattr(studies, "reproduce", short)
