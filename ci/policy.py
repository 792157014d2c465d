"""Every number of policy, each with its reason. Nothing else in the suite holds one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Policy:
    """What the judge and the orchestrator assume. Shares are relative: 0.01 is 1%."""

    device: str

    # A slowdown up to tau is no finding: the null hypothesis of every test is "slowdown <= tau".
    tau: float
    # A proven slowdown turns the gate red only if its estimate reaches tau_fail as well.
    tau_fail: float
    # Standard deviation of log(kernel / control) from day to day and from card to card. Repeating
    # trials today cannot reduce it, so it is in every denominator.
    day_std: float

    # In a confirmation the estimate must reach this instead: it rests on pairs of fresh processes,
    # without a day between them, so that less distance from tau is asked of it.
    paired_tau_fail: float

    # tau, tau_fail and day_std of a family (mean over the shapes of one kernel and precision).
    family_tau: float
    family_tau_fail: float
    # The part of day_std that all shapes of a kernel share, which a mean over shapes keeps.
    family_day_std: float

    # A control measured against itself must read 0: if its interval lies beyond this, the
    # measurement is biased and the run is invalid.
    control_limit: float
    # A run whose rows were throttled in more than this share of the telemetry is invalid.
    throttled_limit: float

    # Trials of a run when --trials does not say.
    default_trials: int
    # A baseline serves many gates, and its error is in all of them, so it may not be shorter.
    baseline_trials: int
    # Trials of the screen that comes before a confirmation.
    screen_trials: int
    # What a process costs before its first point, to foretell what fits into a budget.
    start_s: float
    # The slowdown of the canary: each measuring gate must flag a twin that is slower by this.
    canary_slowdown: float
    # A point that gives no result in this time has hung.
    point_deadline_s: float

    # Share of innocent gates that may report a regression, over all points and families of a gate
    # together (Holm). The level of the field; with tau above it the real rate is far lower.
    alpha: float = 0.05
    # smallest_visible is the slowdown that this share of such runs would have reported.
    power: float = 0.8
    # Pairs of a confirmation: 2^-14 is the smallest p of an exact signed-rank test on them, which
    # Holm still accepts among 800 suspects; with 13 pairs it is 400, with 12 only 200.
    pairs: int = 14
    # A family that could be slower at this level is confirmed. Its bounds are wide beside its
    # limits, so that asking for a proof of its innocence would confirm nearly all of them.
    family_suspect_p: float = 0.10
    # Below three trials on a side there is no spread to speak of: inconclusive.
    min_trials: int = 3
    # Trial t visits its points in the order of seed base_seed + t. Fixed, so that base and head
    # visit them in the same orders, and what a point inherits from its predecessor cancels.
    base_seed: int = 1
    # Loading libraries and creating a CUDA context takes seconds; beyond this it has hung.
    start_deadline_s: float = 300.0
    # A kernel whose crash killed this many processes of a trial is skipped for the rest of it:
    # each crash costs a process start, each hang a deadline.
    crashes_per_kernel: int = 2


GPU = Policy(
    device="gpu",
    # The smallest loss that a reviewer would act on.
    tau=0.01,
    # Twice tau, so that an estimate that only just clears the test is never a red gate.
    tau_fail=0.02,
    # Between two cards of one model (H200) the ratio moved by 0.3% to 0.8% from problem to problem.
    day_std=0.006,
    # Halfway from tau to the 2% that a confirmation has to find: asking for 2% itself would miss
    # half of the kernels that lost exactly that.
    paired_tau_fail=0.015,
    # A mean over shapes is steadier than a point, so a smaller broad loss can be asked about.
    family_tau=0.005,
    family_tau_fail=0.01,
    # Between the same two cards the mean over shapes moved by 0.4% to 0.5%.
    family_day_std=0.005,
    # Half of tau: a bias of this size cannot make a verdict by itself.
    control_limit=0.005,
    # Power capping is the normal state of a loaded card and is not counted; this is heat and
    # faults, where one block in five is no accident.
    throttled_limit=0.2,
    # Trial spread is 0.4% to 1%: ten trials put its share of the error below that of day_std.
    default_trials=10,
    baseline_trials=10,
    # With six, the share of the error that trials make is that of day_std or less.
    screen_trials=6,
    # 0.8 s measured on an H200.
    start_s=1.0,
    # Three times tau.
    canary_slowdown=0.03,
    # A point takes a few seconds.
    point_deadline_s=120.0,
)

HOST = Policy(
    device="host",
    # A shared CPU has neighbours: frequency, caches and memory bandwidth move with their load. The
    # host rungs keep the pipeline honest; they do not promise 1%.
    tau=0.05,
    tau_fail=0.10,
    day_std=0.025,
    paired_tau_fail=0.075,
    family_tau=0.025,
    family_tau_fail=0.05,
    family_day_std=0.02,
    control_limit=0.03,
    throttled_limit=0.2,
    # day_std dominates after a few trials.
    default_trials=5,
    baseline_trials=5,
    screen_trials=5,
    start_s=0.5,
    # Five times tau: a neighbour may take a tenth of the speed for a while.
    canary_slowdown=0.25,
    # The slowest host rungs are given problems of seconds by the plan's own rule.
    point_deadline_s=300.0,
)

# Orchestration, the same for both devices.

# What a load other than a trial's may add to point_deadline_s: sustained 84 launches, burst 64 and
# 8 s of pauses. That is 42 s, as the plan refuses a launch that could take more than 0.5 s.
LOAD_ALLOWANCE_S = 60.0
# Writing the catalog measures nothing; it only looks at the machine.
CATALOG_DEADLINE_S = 120.0
# At most one progress line in this time when the output is not a terminal.
PROGRESS_INTERVAL_S = 10.0
# How often the orchestrator looks at a trial. It must not itself disturb a host measurement.
POLL_INTERVAL_S = 0.2
# A killed process that is still there after this holds the device; nothing can be measured.
KILL_DEADLINE_S = 30.0
# With less free space than this, a missing row is the disk's fault and no kernel's.
DISK_RESERVE_BYTES = 4 << 20
# Builds of merge-bases that are kept: the branches that are worked on at a time. One takes a few
# hundred megabytes.
BUILDS_KEPT = 5


def policy_for(device: str) -> Policy:
    """The policy of a catalog's or fingerprint's device: "gpu" or "host"."""
    return GPU if device == "gpu" else HOST


# History.

# Intervals that are drawn cover this share: 1 - INTERVAL_ALPHA. The usual one of a chart.
INTERVAL_ALPHA = 0.05
# Share of series that have no change and yet show one, over all of a series' splits together: with
# 400 series less than one stands out by chance, and most such are below tau.
CHANGE_ALPHA = 0.001
# The smallest p that can be told is 1/2000, half of CHANGE_ALPHA.
CHANGE_PERMUTATIONS = 1999
# Nights on each side of a change point. One night is a spike, two are a machine that was busy over
# a weekend.
CHANGE_NIGHTS = 3
# Nights at each end of a drift that are compared: a week, so that weekly load is in both.
CREEP_NIGHTS = 7

# Validation.

# All points of our kernels together may take this much longer before that alone makes a new driver
# unsafe: the absolute time of identical work moved by up to 4.4% from process to process and by
# 2.8% from card to card (H200), a mean over many points by less.
COMMON_LIMIT = 0.05
# Of so many points the speed must be decided before a machine is called safe: most of them.
DECIDED_SHARE = 0.5
