"""One history of lists that is too large for one task: summarised by key, and judged by the rest.

The functions over arrays are those of checkers/cuts (lists.py, moments.py); here they are fed by
Spark. docs/explanation/judging-in-parts.md explains what is left and why that is enough.
"""
