"""What the README says is what the records say."""

from correctness.calibration import keep


def test_the_tables_are_those_of_the_records() -> None:
    text = keep.README.read_text()
    assert text == keep.readme_with_records(text), "python -m correctness.calibration.keep"


def test_every_record_has_its_figure() -> None:
    assert keep.records()
    for record in keep.records():
        assert (keep.RECORDS / f"{keep.slug(keep.machine(record))}.png").is_file()


def test_every_bound_in_a_table_is_kept() -> None:
    for record in keep.records():
        assert max(share for _, _, share, _, _ in keep.shares(record)) < 1


def test_a_figure_of_many_kernels_shows_the_largest_of_ours_beside_each_of_the_vendors() -> None:
    def series(kernel: str, errors: list[float]) -> keep.Record:
        return {"kernel": kernel, "precision": "fp32", "regime": "symmetric", "k": [16, 32],
                "error": errors}  # fmt: skip

    own = [f"rung{i}" for i in range(keep.MOST_LINES)]
    kernels = [{"kernel": name, "vendor": False} for name in own]
    record: keep.Record = {
        "alarms": {"kernels": [*kernels, {"kernel": "blas", "vendor": True}]},
        "errors": [
            series("rung0", [3.0, 1.0]),
            series("rung1", [2.0, 4.0]),
            series("blas", [9.0, 9.0]),
        ],
    }
    assert keep.curves(record, "fp32", "symmetric") == {
        f"largest of {len(own)} kernels": {16: 3.0, 32: 4.0},
        "blas": {16: 9.0, 32: 9.0},
    }
    record["alarms"]["kernels"].pop()  # as many as there are colours: each has its own line
    record["errors"].pop()
    assert set(keep.curves(record, "fp32", "symmetric")) == {"rung0", "rung1"}
