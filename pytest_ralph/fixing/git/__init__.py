"""git: checkpoints, rollback and commits."""
