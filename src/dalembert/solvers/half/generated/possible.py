"""For which models there are generated integrators. Nothing heavy is loaded to find that out."""

from __future__ import annotations

from dalembert.model import Model
from dalembert.regularize.half_explicit import DescriptorForm

#: untraceable functions that do no harm: inputs may become tables, outputs are not asked for
OTHERS = ("input ", "output ")


def why_not(form: DescriptorForm, model: Model) -> list[str]:
    """What is in the way; nothing, if there can be one."""
    reasons = []
    if model.has_contacts or model.collisions is not None:
        reasons.append("it has contacts, whose impacts are events")
    if model.hybrid is not None:
        reasons.append("it has events of its own")
    if form.has_friction:
        reasons.append("its forces depend on multipliers")
    reasons += [f"its function {role} cannot be traced" for role in model.untraceable if not role.startswith(OTHERS)]
    if model.graph.has_native:
        reasons.append("its functions are native code, as those of large systems of bodies are")
    return reasons
