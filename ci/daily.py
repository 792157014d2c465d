"""The judging half of `gemmwatch run --judge`: against this machine's baseline, if it has one."""

from __future__ import annotations

from ci import baseline as baselines
from ci.canary import measure_canary
from ci.errors import BadInput, Exit, NoAnswer
from ci.gate import gate
from ci.measure import RunOptions
from ci.plan import RunFolder
from ci.policy import policy_for
from ci.records import Run, load_samples


def judge_run(run: Run, options: RunOptions) -> Exit:
    """Gates the run against the baseline given or found, else makes it the local baseline.

    An approved baseline comes before a local one.
    """
    baseline = options.baseline
    head = run.samples
    base = (
        load_samples(baseline)
        if baseline
        else baselines.find_baseline(
            head.fingerprint, head.selection, (baselines.APPROVED, baselines.LOCAL)
        )
    )
    if base is None:
        return _become_baseline(run)
    canary = measure_canary(
        run,
        options.program,
        options.folder / "canary",
        RunFolder(options.folder).choices,
        policy_for(head.device),
    )
    return gate(base, head, options.folder, options.strict, canary)


def _become_baseline(run: Run) -> Exit:
    nothing = "there is no baseline of this machine to judge against"
    if run.samples.exit_code != Exit.ok:
        print(f"{nothing}, and this run cannot become one: its results are not sound")
        return run.samples.exit_code
    path = baselines.local_path(run.samples)
    try:
        baselines.store(run, path, note="the first sound run of this machine in this checkout")
    except BadInput as error:
        raise NoAnswer(f"{nothing}, and this run cannot become one. {error}") from error
    print(
        f"{nothing}; this run is now its local baseline: {path}\n"
        f"  approve it for everyone: gemmwatch baseline store {run.samples.label}"
    )
    return Exit.ok
