"""Clients: they carry out one operation at a time and say honestly what became of it."""
