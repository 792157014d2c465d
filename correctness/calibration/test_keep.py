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
