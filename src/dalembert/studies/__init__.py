"""Studies: many runs of one question.

>>> from dalembert import studies
>>> study = studies.work_precision(["pendulum"], {"radau5 ggl": studies.METHODS["radau5 ggl"]()}, [1e-6], repeat=1)
>>> study.rows[0].error < 1e-4
True
"""

from __future__ import annotations

from .peers import PEERS, available_peers
from .reproduce import REPRODUCTIONS, Section, reproduce
from .work_precision import METHODS, Row, Skipped, Study, work_precision

__all__ = [
    "METHODS",
    "PEERS",
    "REPRODUCTIONS",
    "Row",
    "Section",
    "Skipped",
    "Study",
    "available_peers",
    "reproduce",
    "work_precision",
]
