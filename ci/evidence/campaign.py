"""`gemmwatch evidence measure`: real gates of the present build against itself, until there are
enough of them.

Some gates have one program on both sides, and none of them may be red; in the others a kernel of
head is slowed in real device time, and what the gate sees of that is its power.
"""

from __future__ import annotations

import argparse
import shutil
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ci import baseline as baselines
from ci.base_build import given_build
from ci.bench_program import ROOT, BenchProgram, find_bench
from ci.catalog import Catalog
from ci.command_line import SubParsers, positive_number, positive_whole, terminable
from ci.errors import BadInput, Exit
from ci.evidence import gates as kept
from ci.evidence.gates import Campaign, RealGate, load_campaign, ratios_of, write_campaign
from ci.evidence.record import card_of, rounded
from ci.evidence.resample import GateTrials, Ratios
from ci.evidence.study import SLOWDOWNS
from ci.measure import SELECTIONS
from ci.paired_gate import PairedGate
from ci.records import Samples, load_run
from ci.revision import revision
from ci.screen import same_orders


def add_parser(actions: SubParsers) -> None:
    parser = actions.add_parser(
        "measure",
        help="measure real gates of the present build against itself, and keep them",
        description="Measures gates whose two sides are the present build: as it is, and with a "
        "kernel of head slowed by 1, 2, 3, 5 and 10%. Each finished gate is kept; the same command "
        "goes on until there are enough, and ends with 4 if there are not yet.",
    )
    parser.add_argument("--name", required=True, help="of the file in ci/evidence/gates")
    parser.add_argument("--source", required=True, metavar="TEXT", help="where and how, in words")
    parser.add_argument(
        "--gates", type=positive_whole, default=10, help="of identical sides; default: 10"
    )
    parser.add_argument(
        "--slowed", type=positive_whole, default=1, help="for each slowdown; default: 1"
    )
    parser.add_argument(
        "--minutes", type=positive_number, help="begin no further gate that would end later"
    )
    parser.add_argument("--selection", choices=SELECTIONS, default="pr")
    parser.add_argument("--device", choices=("auto", "host", "gpu"), default="auto")
    parser.add_argument(
        "--bench", type=Path, metavar="PATH", help="default: build/cuda's, else build/cpu's"
    )
    parser.set_defaults(execute=_execute)


def _execute(arguments: argparse.Namespace) -> Exit:
    began = time.monotonic()
    program = BenchProgram(find_bench(arguments.bench), arguments.selection, arguments.device)
    catalog = program.catalog().at_commit(revision(ROOT))
    stored = _stored(catalog, arguments.selection)
    file = kept.FOLDER / f"{arguments.name}.json"
    campaign = _begun(file, arguments.source, catalog, stored)
    missing = _missing(planned(arguments.gates, arguments.slowed, own_kernels(catalog)), campaign)
    left = 60 * arguments.minutes if arguments.minutes else float("inf")
    with terminable():
        for number, slowed in enumerate(missing):
            usual = max((gate.seconds for gate in campaign.gates), default=0.0)
            if number and time.monotonic() - began + usual > left:
                print(f"{len(missing) - number} gates are left; the same command goes on")
                return Exit.no_answer
            print(
                f"gate {number + 1} of {len(missing)}: {slowed or 'identical sides'}"
                + (f"; about {usual * (len(missing) - number) / 60:.0f} min left" if usual else ""),
                flush=True,
            )
            campaign.gates.append(_measure(program, slowed, stored))
            write_campaign(campaign, file)
    print(f"{file}: {len(campaign.gates)} gates. Count them with: gemmwatch evidence")
    return Exit.ok


def own_kernels(catalog: Catalog) -> list[str]:
    """The kernels that can be slowed: those of a vendor stand beside what is measured."""
    measured = {point.kernel for point in catalog.points}
    return [k.name for k in catalog.kernels if k.name in measured and not (k.vendor or k.control)]


def planned(identical: int, slowed: int, kernels: Sequence[str]) -> list[str]:
    """What each gate slows, "" for nothing. Slowdowns come round, each with another kernel."""
    turns = [
        f"{kernels[(turn * len(SLOWDOWNS) + i) % len(kernels)]}:{100 * loss:g}"
        for turn in range(slowed) for i, loss in enumerate(SLOWDOWNS)
    ]  # fmt: skip
    # Alternating, so that a campaign that ends early has some of both.
    plan = []
    for i in range(max(identical, len(turns))):
        plan += [""] * (i < identical) + turns[i : i + 1]
    return plan


def _missing(plan: Sequence[str], campaign: Campaign) -> list[str]:
    done = Counter(gate.slowed for gate in campaign.gates)
    missing = []
    for slowed in plan:
        if done[slowed]:
            done[slowed] -= 1
        else:
            missing.append(slowed)
    return missing


def _stored(catalog: Catalog, selection: str) -> Samples:
    roots = (baselines.APPROVED, baselines.LOCAL)
    stored = baselines.find_baseline(catalog.fingerprint, selection, roots)
    if stored is None:
        raise BadInput(
            f"--selection {selection}", "has no baseline of this machine to screen against",
            "make one: gemmwatch run, then gemmwatch baseline store RUN.json",
        )  # fmt: skip
    return stored


def _begun(file: Path, source: str, catalog: Catalog, stored: Samples) -> Campaign:
    ratios = ratios_of(stored)
    if not file.exists():
        return Campaign(file.stem, source, catalog.device, catalog.fingerprint, ratios)
    campaign = load_campaign(file)
    as_written = {point: rounded(values) for point, values in ratios.items()}
    if campaign.fingerprint != dict(catalog.fingerprint) or as_written != {
        point: rounded(values) for point, values in campaign.stored.items()
    }:
        raise BadInput(
            file, "was begun on another machine or against another baseline", "give another --name"
        )
    return campaign


def _measure(program: BenchProgram, slowed: str, stored: Samples) -> RealGate:
    """One gate, from its own empty folder."""
    began = time.monotonic()
    folder = Path("out") / "evidence"
    shutil.rmtree(folder, ignore_errors=True)
    head = BenchProgram(program.path, program.selection, program.device, slowed)
    judgement = PairedGate(folder, given_build(program.path), program, head).judge()
    screen = load_run(folder / "screen" / "run.json").samples
    paired_base, paired_head = _pairs(folder / "pairs")
    return RealGate(
        card=card_of(screen),
        commit=screen.environment.get("commit", "unknown"),
        slowed=slowed,
        seconds=time.monotonic() - began,
        doubts=judgement.doubts,
        trials=GateTrials(
            stored=ratios_of(stored),
            screened=ratios_of(screen),
            base=paired_base,
            head=paired_head,
            matched=same_orders(stored, screen),
        ),
    )


def _pairs(folder: Path) -> tuple[Ratios, Ratios]:
    """Base and head at the points that both passed; none where nothing was suspected."""
    runs = [folder / arm / "run.json" for arm in ("base", "head")]
    base, head = (ratios_of(load_run(run).samples) if run.exists() else {} for run in runs)
    both = [point for point in base if point in head]
    return {point: base[point] for point in both}, {point: head[point] for point in both}
