"""What the documents say of the policy is what it says."""

from pathlib import Path

from ci.policy import GPU, HOST


def test_the_readme_tells_the_policys_numbers() -> None:
    readme = " ".join((Path(__file__).parents[1] / "README.md").read_text().split())
    assert f"{GPU.canary_slowdown:.0%} on a GPU, {HOST.canary_slowdown:.0%} on a host" in readme
    assert f"differences of {GPU.pairs} fresh pairs" in readme
    assert f"{GPU.screen_trials} pairs where there is none" in readme
    assert f"the start of {3 * GPU.pairs} processes" in readme
    assert GPU.pairs == HOST.pairs


def test_a_proof_is_possible_for_as_many_suspects_as_the_policy_says() -> None:
    for pairs, suspects in ((14, 800), (13, 400), (12, 200)):
        assert suspects * 2.0**-pairs <= GPU.alpha < 1.1 * suspects * 2.0**-pairs
    assert GPU.pairs == 14


def test_limits_are_in_their_order() -> None:
    for policy in (GPU, HOST):
        assert policy.tau < policy.paired_tau_fail < policy.tau_fail < policy.canary_slowdown
        assert policy.family_tau < policy.family_tau_fail < policy.tau_fail
