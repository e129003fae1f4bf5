"""Problems with contacts: impacts, friction, persistent contact, with known answers."""

from .balls import ball_stack, bouncing_ball, bouncing_balls
from .billiard import billiard
from .cradle import ball_chain, newtons_cradle
from .edges import ball_over_corner, ball_over_edge
from .painleve import painleve_rod
from .problem import ImpactProblem, KnownImpact
from .rimless_wheel import rimless_wheel
from .rocking import falling_block, four_bar_stop
from .sliding import sliding_box
from .woodpecker import WOODPECKER_CYCLE, woodpecker

__all__ = [
    "WOODPECKER_CYCLE",
    "ImpactProblem",
    "KnownImpact",
    "ball_chain",
    "ball_over_corner",
    "ball_over_edge",
    "ball_stack",
    "billiard",
    "bouncing_ball",
    "bouncing_balls",
    "falling_block",
    "four_bar_stop",
    "newtons_cradle",
    "painleve_rod",
    "rimless_wheel",
    "sliding_box",
    "woodpecker",
]
