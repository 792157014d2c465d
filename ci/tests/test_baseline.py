import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ci.baseline import find_baseline
from ci.errors import BadInput, Exit
from ci.policy import HOST
from ci.records import load_baseline, load_run
from ci.tests.synthetic import catalog_document, run_document

Command = Callable[..., int]
Roots = tuple[Path, Path]
POINT = "tiled/fp32/nn/64x64x64"
OTHER = "tiled/fp32/nn/128x128x128"
SERIES = {POINT: [0.123456789, 0.2, 0.3, 0.4, 0.5], OTHER: [1.0, 1.1, 1.2, 1.3, 1.4]}


def write_run(
    folder: Path, series: Mapping[str, Sequence[float]] | None = None, **changes: Any
) -> Path:
    catalog = catalog_document()
    catalog["injected"] = changes.pop("injected", "")
    catalog["fingerprint"] |= changes.pop("fingerprint", {})
    document = run_document(catalog, SERIES if series is None else series, **changes)
    path = folder / "run.json"
    path.write_text(json.dumps(document))
    return path


def test_a_stored_run_is_read_back(gemmwatch: Command, tmp_path: Path) -> None:
    run = load_run(write_run(tmp_path)).samples
    file = tmp_path / "base.json"
    stored = gemmwatch("baseline", "store", tmp_path / "run.json", "--to", file, "--note", "why")
    assert stored == Exit.ok
    base = load_baseline(file)
    assert base.fingerprint == run.fingerprint
    assert base.outcomes == run.outcomes
    assert (base.selection, base.trials) == (run.selection, run.trials)
    for point in SERIES:
        found, expected = base.points[point], run.points[point]
        assert np.allclose(found.log_ratio, expected.log_ratio, rtol=0, atol=5e-6)
        assert np.allclose(found.kernel_us, expected.kernel_us, rtol=5e-5)
    document = json.loads(file.read_text())
    assert document["points"][POINT]["log_ratio"][0] == 0.12346
    assert (document["note"], document["commit"]) == ("why", "abc")
    approved = datetime.fromisoformat(document["approved"])
    assert timedelta(0) <= datetime.now(UTC) - approved < timedelta(minutes=1)


def test_a_run_of_a_machine_without_known_peaks_can_be_stored(
    gemmwatch: Command, tmp_path: Path
) -> None:
    path = write_run(tmp_path)
    document = json.loads(path.read_text())
    del document["context"]["gemmwatch"]["catalog"]["peaks"]
    path.write_text(json.dumps(document))
    assert gemmwatch("baseline", "store", path, "--to", tmp_path / "base.json") == Exit.ok
    assert load_baseline(tmp_path / "base.json").points.keys() == SERIES.keys()


def test_a_diff_of_a_baseline_shows_the_points_that_moved(
    gemmwatch: Command, tmp_path: Path
) -> None:
    texts = []
    for loss in (0.0, 0.1):
        series = SERIES | {OTHER: [value + loss for value in SERIES[OTHER]]}
        gemmwatch("baseline", "store", write_run(tmp_path, series), "--to", tmp_path / "b.json")
        texts.append((tmp_path / "b.json").read_text().splitlines())
    moved = [line for line in texts[1] if line not in texts[0] and "approved" not in line]
    assert [re.findall(r'"([^"]+)"', line)[0] for line in moved] == [OTHER]


def test_the_default_path_names_machine_and_selection(
    gemmwatch: Command, tmp_path: Path, roots: Roots
) -> None:
    assert gemmwatch("baseline", "store", write_run(tmp_path)) == Exit.ok
    assert (roots[0] / "test-cpu-9000" / "smoke.json").exists()


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"injected": "slow:tiled:5%"}, "artificial change (slow:tiled:5%)"),
    ({"filter": "tiled"}, "filtered (tiled)"),
    (
        {"fingerprint": {"harness": "1 sustained"}},
        "measured under the load sustained, and gates measure under trial",
    ),
    ({"outcomes": {POINT: "incorrect"}, "reasons": {POINT: "x"}}, f"{POINT} incorrect"),
    ({"outcomes": {POINT: "failed"}, "reasons": {POINT: "x"}}, f"{POINT} failed"),
    ({"outcomes": {POINT: "timed_out"}, "reasons": {POINT: "x"}}, f"{POINT} timed_out"),
]


@pytest.mark.parametrize(("changes", "complaint"), REFUSED)
def test_an_unfit_run_is_refused(
    gemmwatch: Command, tmp_path: Path, roots: Roots, changes: dict[str, Any], complaint: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    if "outcomes" in changes:
        changes = changes | {"outcomes": {OTHER: "passed"} | changes["outcomes"]}
    assert gemmwatch("baseline", "store", write_run(tmp_path, **changes)) == Exit.bad_input
    assert complaint in capsys.readouterr().err
    assert not roots[0].exists()


def test_a_short_run_is_refused(
    gemmwatch: Command, tmp_path: Path, roots: Roots, capsys: pytest.CaptureFixture[str]
) -> None:
    short = {POINT: SERIES[POINT][: HOST.baseline_trials - 1]}
    assert gemmwatch("baseline", "store", write_run(tmp_path, short)) == Exit.bad_input
    assert f"measure again with --trials {HOST.baseline_trials}" in capsys.readouterr().err


def test_a_disturbed_run_is_refused(
    gemmwatch: Command, tmp_path: Path, roots: Roots, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its control, measured against itself, reads 20%."""
    series = SERIES | {"control/fp32/nn/64x64x64": [0.2, 0.201, 0.199, 0.2, 0.2]}
    assert gemmwatch("baseline", "store", write_run(tmp_path, series)) == Exit.bad_input
    assert "control against itself reads +20.0%" in capsys.readouterr().err


def test_a_refused_baseline_leaves_the_old_one(gemmwatch: Command, tmp_path: Path) -> None:
    file = tmp_path / "base.json"
    gemmwatch("baseline", "store", write_run(tmp_path), "--to", file)
    before = file.read_text()
    run = write_run(tmp_path, injected="fault:x")
    assert gemmwatch("baseline", "store", run, "--to", file) == Exit.bad_input
    assert file.read_text() == before


def test_listing(
    gemmwatch: Command, tmp_path: Path, roots: Roots, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gemmwatch("baseline", "list") == Exit.ok
    assert "no baselines yet" in capsys.readouterr().out
    gemmwatch("baseline", "store", write_run(tmp_path))
    capsys.readouterr()
    assert gemmwatch("baseline", "list", "--json") == Exit.ok
    (entry,) = json.loads(capsys.readouterr().out)
    assert entry == {
        "path": str(roots[0] / "test-cpu-9000" / "smoke.json"), "machine": "Test CPU 9000",
        "selection": "smoke", "points": 2, "trials": 5, "age_days": 0.0, "commit": "abc",
    }  # fmt: skip
    gemmwatch("baseline", "list")
    assert "Test CPU 9000, smoke, 2 points, 5 trials, 0 days old" in capsys.readouterr().out


# -------------------------------------------------------------------------------------------------
# Finding the baseline of a machine
# -------------------------------------------------------------------------------------------------


def put(gemmwatch: Command, tmp_path: Path, file: Path, **changes: Any) -> None:
    """Stores a baseline whose document then gets these changes."""
    gemmwatch("baseline", "store", write_run(tmp_path), "--to", file)
    document = json.loads(file.read_text()) | changes
    file.write_text(json.dumps(document))


@pytest.fixture
def wanted() -> dict[str, str]:
    fingerprint: dict[str, str] = catalog_document()["fingerprint"]
    return fingerprint


def test_only_the_exact_machine_and_selection_match(
    gemmwatch: Command, tmp_path: Path, wanted: dict[str, str]
) -> None:
    root = tmp_path / "root"
    assert find_baseline(wanted, "smoke", [root]) is None
    put(gemmwatch, tmp_path, root / "a.json", fingerprint=wanted | {"build": "Debug"})
    put(gemmwatch, tmp_path, root / "b.json", selection="pr")
    assert find_baseline(wanted, "smoke", [root]) is None
    put(gemmwatch, tmp_path, root / "deep" / "c.json")
    found = find_baseline(wanted, "smoke", [root])
    assert found is not None
    assert found.label == str(root / "deep" / "c.json")


def test_the_first_root_wins_and_in_it_the_newest(
    gemmwatch: Command, tmp_path: Path, wanted: dict[str, str]
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    put(gemmwatch, tmp_path, second / "x.json", approved="2030-01-01")
    put(gemmwatch, tmp_path, first / "new.json", approved="2026-01-03")
    put(gemmwatch, tmp_path, first / "old.json", approved="2026-01-02")
    found = find_baseline(wanted, "smoke", [first, second])
    assert found is not None
    assert Path(found.label).name == "new.json"


def test_a_broken_baseline_is_not_passed_over(tmp_path: Path, wanted: dict[str, str]) -> None:
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(BadInput, match=r"broken\.json"):
        find_baseline(wanted, "smoke", [tmp_path])
