"""Numbers as a reader sees them: three significant digits, the unit said once."""

from dataclasses import dataclass

from reports.model import Measured


def significant(value: float, digits: int = 3) -> str:
    """0.01234 -> "0.0123", 695.2 -> "695", 4096.3 -> "4096": never an exponent."""
    if value == 0:
        return "0"
    rounded = float(f"{value:.{digits - 1}e}")
    magnitude = int(f"{abs(rounded):e}".split("e")[1])
    return f"{value:.{max(digits - 1 - magnitude, 0)}f}"


def scientific(value: float) -> str:
    """0.00391 -> "3.9e-3": for what spans many powers of ten."""
    digits, _, power = f"{value:.1e}".partition("e")
    return f"{digits}e{int(power)}"


def count(value: float) -> str:
    return f"{value:.0f}"


def ratio(value: float) -> str:
    """A speed against the control, which is read to one percent."""
    return f"{value:.2f}" if value >= 0.095 else f"{value:.3f}"


def fine_ratio(value: float) -> str:
    """The same where small changes matter, as in a trend."""
    return f"{value:.3f}" if value >= 0.1 else significant(value)


def percent(share: float) -> str:
    """Two significant digits: 0.0213 -> "2.1%", 0.5 -> "50%", 0.02 -> "2%"."""
    digits = significant(100 * share, 2)
    return f"{digits.removesuffix('.0')}%"


def signed_percent(change: float) -> str:
    return f"{100 * change:+.1f}%"


@dataclass(frozen=True)
class RateUnit:
    """TFLOP/s, or GFLOP/s on a machine where no point reaches 1 TFLOP/s."""

    name: str
    per_tflops: float

    def of(self, tflops: float) -> str:
        return significant(tflops * self.per_tflops)


def rate_unit(measured: Measured) -> RateUnit:
    speeds = [point.performance.tflops for point in measured.points if point.performance]
    if max(speeds, default=1.0) < 1.0:
        return RateUnit("GFLOP/s", 1e3)
    return RateUnit("TFLOP/s", 1.0)
