"""The metadata quorum's rules: Raft in KRaft's shape, where followers pull.

Nothing here waits, reads a clock or touches a disk. A shell hands events to `machine.Raft.step` and
carries out the effects that come back, in order and all of them, before it hands in the next event.
Only then does the log look as the rules believe that it looks.

A reader starts with `events` and `effects`, then `quorum` (what a node knows), then one file for
each thing a node does: `elections`, `leading`, `following`, `announcements`, `timers`.
"""
