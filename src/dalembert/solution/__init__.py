"""Results of simulations: values, dense output, events, constraint residuals, statistics, files, plots."""

from dalembert.solution.events import EventLog, Occurrence
from dalembert.solution.impacts import Impact, ImpactLog, Rest
from dalembert.solution.profile import Profile
from dalembert.solution.segments import SegmentInfo
from dalembert.solution.solution import Solution
from dalembert.solution.state_view import StateView
from dalembert.solution.statistics import Statistics
from dalembert.solution.trace import Attempt, Trace
from dalembert.solution.trajectory import Trajectory

__all__ = [
    "Attempt",
    "EventLog",
    "Impact",
    "ImpactLog",
    "Occurrence",
    "Profile",
    "Rest",
    "SegmentInfo",
    "Solution",
    "StateView",
    "Statistics",
    "Trace",
    "Trajectory",
]
