"""A site replaces a site, whole or not at all, and never anything else."""

import fcntl
import os
import shutil
from pathlib import Path

import pytest

from reports.files import ReportError
from reports.site.folder import MARK, replaced


def build(folder: Path, name: str) -> None:
    with replaced(folder) as new:
        (new / name).write_text(name)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_the_new_site_takes_the_place_of_the_old(tmp_path: Path) -> None:
    site = tmp_path / "deep" / "site"
    build(site, "old.html")
    build(site, "new.html")
    assert names(site) == {MARK, "new.html"}
    assert names(site.parent) == {"site"}


def test_a_build_that_fails_leaves_the_old_site_and_nothing_else(tmp_path: Path) -> None:
    site = tmp_path / "site"
    build(site, "old.html")
    with pytest.raises(RuntimeError, match="planted"), replaced(site) as new:
        (new / "half.html").write_text("half")
        raise RuntimeError("planted")
    assert names(site) == {MARK, "old.html"}
    assert names(tmp_path) == {"site"}


def test_a_folder_of_someone_else_s_is_refused_and_kept(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "thesis.tex").write_text("years of work")
    with pytest.raises(ReportError, match=r"theirs: is there already .* name a folder"):
        build(theirs, "index.html")
    assert names(theirs) == {"thesis.tex"}
    file = tmp_path / "file"
    file.write_text("words")
    with pytest.raises(ReportError, match="file: is there already"):
        build(file, "index.html")
    assert file.read_text() == "words"


def test_an_empty_folder_is_free_to_take(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    build(tmp_path / "site", "index.html")
    assert names(tmp_path / "site") == {MARK, "index.html"}


@pytest.mark.parametrize("swapping", [False, True], ids=["drawing", "between the renames"])
def test_what_a_killed_build_left_does_not_matter(tmp_path: Path, swapping: bool) -> None:
    site = tmp_path / "site"
    build(site, "old.html")
    left = tmp_path / ".site.new"
    (left / "problems").mkdir(parents=True)
    (left / "problems" / "half.html").write_text("half")
    if swapping:
        site.rename(tmp_path / ".site.old")
    build(site, "new.html")
    assert names(site) == {MARK, "new.html"}
    assert names(tmp_path) == {"site"}


def test_a_site_that_a_killed_build_moved_aside_is_put_back_first(tmp_path: Path) -> None:
    site = tmp_path / "site"
    build(site, "old.html")
    site.rename(tmp_path / ".site.old")  # as a build leaves it that is killed between its renames
    with pytest.raises(RuntimeError, match="planted"), replaced(site):
        assert names(site) == {MARK, "old.html"}
        raise RuntimeError("planted")
    assert names(site) == {MARK, "old.html"}
    assert names(tmp_path) == {"site"}


def test_a_swap_that_fails_half_way_keeps_the_old_site(tmp_path: Path) -> None:
    site = tmp_path / "site"
    build(site, "old.html")
    with pytest.raises(ReportError, match="site: cannot be written"), replaced(site) as new:
        shutil.rmtree(new)  # so that the second rename finds nothing
    assert names(site) == {MARK, "old.html"}
    assert names(tmp_path) == {"site"}


def test_a_second_builder_waits_for_its_turn(tmp_path: Path) -> None:
    site = tmp_path / "site"
    with replaced(site) as new:
        (new / "first.html").write_text("first")
        with pytest.raises(ReportError, match="another build of this site is at work"):
            build(site, "second.html")
    assert names(site) == {MARK, "first.html"}


def test_the_lock_of_a_finished_builder_holds_up_nobody(tmp_path: Path) -> None:
    site = tmp_path / "site"
    build(site, "old.html")
    held = os.open(site, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)  # as the builder has it until it ends
        build(site, "new.html")
    finally:
        os.close(held)
    assert names(site) == {MARK, "new.html"}


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("words")
    with pytest.raises(ReportError, match=r"site: cannot be written \(.*\); check the folder"):
        build(tmp_path / "file" / "site", "index.html")
