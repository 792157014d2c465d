"""From trials to verdicts: orchestration, records, policy and the judge."""
