"""What fits into a budget."""

from dataclasses import replace

import pytest

from ci.budget import Budget, Cost
from ci.confirm import Suspect
from ci.policy import GPU

POLICY = replace(GPU, pairs=10, start_s=1.0)
SECONDS = {"a": 1.0, "b": 5.0, "c": 1.0, "canary": 0.5}
SUSPECTS = [Suspect("a", ("a",), 0.3), Suspect("b", ("b",), 0.2), Suspect("c", ("c",), 0.1)]
# 10 pairs of 5 processes, of which 3 measure the canary: 65 s; a and c 20 s each, b 100 s.
COST = Cost(SECONDS, "canary", POLICY)


@pytest.mark.parametrize(
    ("left", "chosen"),
    [
        (300, "abc"),
        (205, "abc"),
        (204, "ab"),
        (184, "ac"),
        (105, "ac"),
        (104, "a"),
        (84, ""),
        (-5, ""),
    ],
)
def test_the_worst_come_first_and_a_dear_one_does_not_keep_out_a_cheap_one(
    left: float, chosen: str
) -> None:
    taken, left_out = COST.affordable(SUSPECTS, left)
    assert "".join(suspect.id for suspect in taken) == chosen
    assert {suspect.id for suspect in (*taken, *left_out)} == set("abc")


def test_a_family_pays_only_for_points_that_are_not_measured_anyway() -> None:
    family = Suspect("family", ("a", "c"), 0.05)
    taken, _ = COST.affordable([SUSPECTS[0], family], 105)
    assert [suspect.id for suspect in taken] == ["a", "family"]


def test_a_budget_runs_from_its_first_use() -> None:
    now = [100.0]
    budget = Budget(60, clock=lambda: now[0])
    now[0] = 500.0  # building the base, say
    assert (budget.left, budget.spent) == (60, 0)
    now[0] = 545.0
    assert (budget.left, budget.spent) == (15, 45)
    assert Budget().left > 1e9
