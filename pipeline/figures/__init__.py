"""What can be said of many runs in numbers: figures, each one a DataFrame over the lake's tables.

figure.py says what a figure is, figures.py lists all of them, material.py holds the frames that
several share, and store.py keeps the results in the lake. Every other module is one idea.
"""
