"""Texts of robots, and what records the calls that build one, shared by the tests of URDF."""

from types import SimpleNamespace

INERTIAL = '<inertial><mass value="2"/><inertia ixx="0.3" iyy="0.4" izz="0.5"/></inertial>'


def link(name, inside=INERTIAL):
    return f'<link name="{name}">{inside}</link>'


def joint(name, parent, child, kind="revolute", inside='<axis xyz="0 0 1"/>'):
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inside}</joint>'


def robot(*parts, name="r"):
    """One element a line: the first part is in line 2."""
    return "\n".join([f'<robot name="{name}">', *parts, "</robot>"])


ARM = robot(
    link("base", ""), link("upper"), link("lower"), joint("shoulder", "base", "upper"), joint("elbow", "upper", "lower")
)


class Recorder:
    """Stands for a `Multibody`: keeps the calls by the names of what they make."""

    def __init__(self, planar=False):
        self.planar, self.ground, self.calls = planar, "ground", {}

    def __getattr__(self, method):
        if method.startswith("_"):
            raise AttributeError(method)

        def record(name, *arguments, **options):
            assert name not in self.calls, f"'{name}' was given twice"
            self.calls[name] = SimpleNamespace(method=method, name=name, arguments=arguments, **options)
            return self.calls[name]

        return record
