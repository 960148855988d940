"""Linearizability: whether one order, in time, explains what every operation saw."""
