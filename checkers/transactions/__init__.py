"""Isolation of transactions, by the graph of who must have come before whom. Elle's taxonomy."""
