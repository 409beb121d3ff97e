from __future__ import annotations

import pytest

from mirrormask.pretraining.budget import steps_for


@pytest.mark.parametrize(
    ("seconds", "step", "evaluation", "every", "steps"),
    [
        (600.0, 0.5, 0.0, 0, 1200),
        (600.0, 0.5, 10.0, 0, 980),  # 1 + 10 evaluations
        (600.0, 0.5, 10.0, 100, 983),  # 9.83 of them, after the first
        (5.0, 0.5, 10.0, 0, 1),
    ],
)
def test_evaluations_take_of_the_time(seconds: float, step: float, evaluation: float, every: int, steps: int) -> None:
    assert steps_for(seconds, step, evaluation, every) == steps
    assert steps * step + evaluation <= max(seconds, step + evaluation)
