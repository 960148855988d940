"""One history that no single task can hold, judged in parts: checkers/cuts on Spark.

Reading order: stretches.py (what a task says of a batch of elements), ranges.py (of a range of
offsets), kept.py (which elements are kept), job.py (the steps, and what the driver holds).
"""
