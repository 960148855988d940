"""One history that no single task can hold, judged in parts: checkers/cuts on Spark.

Reading order: told.py (what tasks say of a part), ranges.py (of a range of offsets), smaller.py
(which elements are kept), job.py (the steps, and what the driver holds meanwhile).
"""
