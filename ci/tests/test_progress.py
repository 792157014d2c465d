from io import StringIO

import pytest

from ci.policy import PROGRESS_INTERVAL_S
from ci.progress import Progress


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_log_gets_a_line_every_few_seconds() -> None:
    clock, log = Clock(), StringIO()
    progress = Progress(trials=2, points=10, stream=log, clock=clock)
    for second in range(int(3 * PROGRESS_INTERVAL_S)):
        clock.now = 100.0 + second
        progress.show(0, 0, second % 10)
    progress.close()
    assert len(log.getvalue().splitlines()) == 3
    assert "\r" not in log.getvalue()


@pytest.mark.parametrize(
    ("seconds", "said"), [(2.0, "30 s"), (10.0, "2 min 30 s"), (400.0, "1 h 40 min")]
)
def test_time_left_goes_by_the_points_of_this_session(seconds: float, said: str) -> None:
    """A resumed run: the 4 points that an earlier session measured took this one no time."""
    clock, terminal = Clock(), Terminal()
    progress = Progress(trials=2, points=10, stream=terminal, clock=clock)
    progress.show(0, 0, 4)
    clock.now += seconds
    progress.show(0, 1, 4)  # one point in this session, 15 to go
    last = terminal.getvalue().split("\r")[-1]
    assert "trial 1/2  point 5/10" in last
    assert f"about {said} left" in last


def test_a_note_stays_on_a_terminal() -> None:
    terminal = Terminal()
    progress = Progress(trials=1, points=2, stream=terminal)
    progress.show(0, 0, 0)
    progress.note("killed by signal 11")
    assert "killed by signal 11\n" in terminal.getvalue()
