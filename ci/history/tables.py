"""The tables. migrations/ creates them; a test holds the two together.

A run never changes, so what is derived from its trials (a night's median and interval) is stored
with it: a year of trends reads one row a point and night, not one a trial.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)

# Named, so that a migration can alter a constraint on every database.
metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _of_run() -> Column[int]:
    return Column("run", ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)


def _of_point() -> Column[int]:
    return Column("point", ForeignKey("points.id"), primary_key=True)


# What a site needs to place the points; the same night after night.
catalogs = Table(
    "catalogs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("digest", String(64), nullable=False, unique=True),
    Column("document", JSON, nullable=False),  # kernels, problems, peaks
)

runs = Table(
    "runs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("digest", String(64), nullable=False, unique=True),  # of the run's own content
    Column("source", String(20), nullable=False),  # gemmwatch or google-benchmark
    Column("machine", Text, nullable=False),
    Column("selection", Text, nullable=False),
    Column("finished", String(25), nullable=False),  # ISO 8601, UTC, to the second
    Column("commit", Text, nullable=False),  # "" = not known
    Column("trials", Integer, nullable=False),
    Column("fingerprint", JSON, nullable=False),
    Column("environment", JSON, nullable=False),
    Column("doubts", JSON, nullable=False),  # why nothing measured in it can be believed
    Column("catalog", ForeignKey("catalogs.id"), nullable=False),
    Column("answer", String(20), nullable=False),  # of its verdict; "" = it was not judged
    Index("ix_runs_track", "machine", "selection", "finished"),
)

# The run that a machine's later nights are held against, however slowly they drift.
anchors = Table(
    "anchors",
    metadata,
    Column("machine", Text, primary_key=True),
    Column("selection", Text, primary_key=True),
    Column("run", ForeignKey("runs.id"), nullable=False),
)

points = Table(
    "points",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(250), nullable=False, unique=True),
)

# Medians over the trials; NULL where the point has no time, or the run no such reading.
results = Table(
    "results",
    metadata,
    _of_run(),
    _of_point(),
    Column("outcome", String(20), nullable=False),
    Column("reason", Text, nullable=False),  # "" if it passed
    Column("log_ratio", Float),  # ln(kernel / control)
    Column("low", Float),  # its 95% interval
    Column("high", Float),
    Column("kernel_us", Float),
    Column("control_us", Float),
    Column("sm_mhz", Float),
    Column("power_w", Float),
    Column("bound_share", Float),
)

samples = Table(
    "samples",
    metadata,
    _of_run(),
    _of_point(),
    Column("trial", Integer, primary_key=True),
    Column("log_ratio", Float),  # NULL without a control
    Column("kernel_us", Float, nullable=False),
    Column("control_us", Float),
    Column("sm_mhz", Float),
    Column("mem_mhz", Float),
    Column("power_w", Float),
    Column("temperature_c", Float),
    Column("throttled", Float),
    Column("power_capped", Float),
    Column("energy_j", Float),
    Column("bound_share", Float),
)

verdicts = Table(
    "verdicts",
    metadata,
    _of_run(),
    _of_point(),
    Column("verdict", String(20), nullable=False),
    Column("reason", Text, nullable=False),
    Column("change", Float),  # 0.05 = 5% slower than the base it was judged against
    Column("low", Float),
    Column("high", Float),
)

# What the compiler made of each device function, as the resources document has it.
resources = Table(
    "resources",
    metadata,
    _of_run(),
    Column("function", Text, primary_key=True),
    Column("arch", String(20), primary_key=True),
    Column("document", JSON, nullable=False),
)

# The measured columns of `samples`, which a row of Google Benchmark's format has as counters.
COUNTERS = tuple(column.name for column in samples.columns if isinstance(column.type, Float))
