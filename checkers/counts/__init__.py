"""Models that need no search: what went in is counted against what came out."""
