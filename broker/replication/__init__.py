"""The rules of a replicated partition, for its leader and its followers: no clock, no I/O."""
