import pytest

from ci.resources.ratchet import compare
from ci.resources.record import Function
from ci.resources.tests.conftest import function, resources


@pytest.mark.parametrize(
    ("worse", "words"),
    [
        (function(local_loads=1), "local memory"),
        (function(local_stores=1), "local memory"),
        (function(stack_bytes=8), "stack"),
        (function(tensor_instructions=15), "tensor"),
        (function(resident_warps=40), "resident"),
    ],
)
def test_each_kind_of_loss_is_found_and_its_opposite_is_none(worse: Function, words: str) -> None:
    (loss,) = compare(resources([function()]), resources([worse]))
    assert words in loss.loss
    (gain,) = compare(resources([worse]), resources([function()]))
    assert gain.loss == ""


def test_an_occupancy_that_is_not_known_is_no_loss() -> None:
    """A function without a bound of its block may be resident more often, or less."""
    (finding,) = compare(resources([function()]), resources([function(resident_warps=0)]))
    assert (finding.loss, finding.changes) == ("", "resident_warps 48 -> 0")


def test_what_costs_the_same_is_no_loss_and_is_told() -> None:
    other = function(registers=48, code_bytes=8192, code="cc")
    (finding,) = compare(resources([function()]), resources([other]))
    assert finding.loss == ""
    assert "registers 40 -> 48" in finding.changes
    assert "code_bytes 4096 -> 8192" in finding.changes


def test_other_machine_code_at_the_same_cost_is_told() -> None:
    (finding,) = compare(resources([function()]), resources([function(code="cc")]))
    assert (finding.loss, finding.function) == ("", "sm_90 f")


def test_a_function_that_is_gone_is_a_loss_and_a_new_one_is_none() -> None:
    gone, new = compare(resources([function("old")]), resources([function("new")]))
    assert (gone.function, gone.loss) == ("sm_90 old", "gone")
    assert (new.function, new.loss, new.changes) == ("sm_90 new", "", "new")


def test_equal_builds_have_no_finding() -> None:
    assert compare(resources([function()]), resources([function()])) == []
