"""The memory of the suite: every night's run, and what moved when."""
