"""Figures: numbers about many runs, each a DataFrame over the lake's tables.

figure.py defines a figure, figures.py lists all of them, material.py has the frames that several
figures share, and store.py keeps the results in the lake. Each other module declares the figures of
one subject.
"""
