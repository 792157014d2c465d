"""The first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "catalogs",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_catalogs")),
        sa.UniqueConstraint("digest", name=op.f("uq_catalogs_digest")),
    )
    op.create_table(
        "points",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=250), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_points")),
        sa.UniqueConstraint("name", name=op.f("uq_points_name")),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("source", sa.String(length=20), nullable=False),
        sa.Column("machine", sa.Text(), nullable=False),
        sa.Column("selection", sa.Text(), nullable=False),
        sa.Column("finished", sa.String(length=25), nullable=False),
        sa.Column("commit", sa.Text(), nullable=False),
        sa.Column("trials", sa.Integer(), nullable=False),
        sa.Column("fingerprint", sa.JSON(), nullable=False),
        sa.Column("environment", sa.JSON(), nullable=False),
        sa.Column("doubts", sa.JSON(), nullable=False),
        sa.Column("catalog", sa.Integer(), nullable=False),
        sa.Column("answer", sa.String(length=20), nullable=False),
        sa.ForeignKeyConstraint(
            ["catalog"], ["catalogs.id"], name=op.f("fk_runs_catalog_catalogs")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
        sa.UniqueConstraint("digest", name=op.f("uq_runs_digest")),
    )
    op.create_index("ix_runs_track", "runs", ["machine", "selection", "finished"], unique=False)
    op.create_table(
        "anchors",
        sa.Column("machine", sa.Text(), nullable=False),
        sa.Column("selection", sa.Text(), nullable=False),
        sa.Column("run", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name=op.f("fk_anchors_run_runs")),
        sa.PrimaryKeyConstraint("machine", "selection", name=op.f("pk_anchors")),
    )
    op.create_table(
        "resources",
        sa.Column("run", sa.Integer(), nullable=False),
        sa.Column("function", sa.Text(), nullable=False),
        sa.Column("arch", sa.String(length=20), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run"], ["runs.id"], name=op.f("fk_resources_run_runs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run", "function", "arch", name=op.f("pk_resources")),
    )
    op.create_table(
        "results",
        sa.Column("run", sa.Integer(), nullable=False),
        sa.Column("point", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.String(length=20), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("log_ratio", sa.Float(), nullable=True),
        sa.Column("low", sa.Float(), nullable=True),
        sa.Column("high", sa.Float(), nullable=True),
        sa.Column("kernel_us", sa.Float(), nullable=True),
        sa.Column("control_us", sa.Float(), nullable=True),
        sa.Column("sm_mhz", sa.Float(), nullable=True),
        sa.Column("power_w", sa.Float(), nullable=True),
        sa.Column("bound_share", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["point"], ["points.id"], name=op.f("fk_results_point_points")),
        sa.ForeignKeyConstraint(
            ["run"], ["runs.id"], name=op.f("fk_results_run_runs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run", "point", name=op.f("pk_results")),
    )
    op.create_table(
        "samples",
        sa.Column("run", sa.Integer(), nullable=False),
        sa.Column("point", sa.Integer(), nullable=False),
        sa.Column("trial", sa.Integer(), nullable=False),
        sa.Column("log_ratio", sa.Float(), nullable=True),
        sa.Column("kernel_us", sa.Float(), nullable=False),
        sa.Column("control_us", sa.Float(), nullable=True),
        sa.Column("sm_mhz", sa.Float(), nullable=True),
        sa.Column("mem_mhz", sa.Float(), nullable=True),
        sa.Column("power_w", sa.Float(), nullable=True),
        sa.Column("temperature_c", sa.Float(), nullable=True),
        sa.Column("throttled", sa.Float(), nullable=True),
        sa.Column("power_capped", sa.Float(), nullable=True),
        sa.Column("energy_j", sa.Float(), nullable=True),
        sa.Column("bound_share", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["point"], ["points.id"], name=op.f("fk_samples_point_points")),
        sa.ForeignKeyConstraint(
            ["run"], ["runs.id"], name=op.f("fk_samples_run_runs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run", "point", "trial", name=op.f("pk_samples")),
    )
    op.create_table(
        "verdicts",
        sa.Column("run", sa.Integer(), nullable=False),
        sa.Column("point", sa.Integer(), nullable=False),
        sa.Column("verdict", sa.String(length=20), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("change", sa.Float(), nullable=True),
        sa.Column("low", sa.Float(), nullable=True),
        sa.Column("high", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["point"], ["points.id"], name=op.f("fk_verdicts_point_points")),
        sa.ForeignKeyConstraint(
            ["run"], ["runs.id"], name=op.f("fk_verdicts_run_runs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run", "point", name=op.f("pk_verdicts")),
    )


def downgrade() -> None:
    tables = "verdicts samples results resources anchors runs points catalogs"
    for table in tables.split():
        op.drop_table(table)
