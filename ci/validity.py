"""Whether a run was measured on an undisturbed machine."""

from __future__ import annotations

from ci.catalog import kernel_of
from ci.estimate import locate
from ci.policy import Policy
from ci.records import Samples


def disturbances(run: Samples, policy: Policy) -> list[str]:
    """Why nothing measured in this run can be believed; empty for a valid run. Pure."""
    doubts = []
    if run.throttled > policy.throttled_limit:
        doubts.append(
            f"the device was throttled in {run.throttled:.0%} of the samples "
            f"(limit {policy.throttled_limit:.0%}): cool it or free it, then measure again"
        )
    doubts.extend(_moved_controls(run, policy))
    return doubts


def _moved_controls(run: Samples, policy: Policy) -> list[str]:
    """The control against itself is 0 by construction; what else it reads is bias."""
    controls = {
        point: samples.log_ratio
        for point, samples in run.points.items()
        if kernel_of(point) in run.controls and samples.log_ratio.size >= policy.min_trials
    }
    doubts = []
    for point, log_ratio in controls.items():
        estimate = locate(log_ratio)
        alpha = policy.alpha / (2 * len(controls))
        if max(estimate.low(alpha), -estimate.high(alpha)) > policy.control_limit:
            doubts.append(
                f"the control against itself reads {estimate.effect:+.1%} at {point} "
                f"(limit {policy.control_limit:.1%}): the machine was disturbed, measure again"
            )
    return doubts
