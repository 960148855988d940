"""The steps of a run: plan, up, load and faults, heal and drain, gather, check, tell."""
