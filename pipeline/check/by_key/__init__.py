"""A history of many objects, judged on Spark by tasks that hold some whole objects each.

checkers/linear/by_object.py has the pure functions and says why the verdict is that of the whole
history. Here rows find the object that they are about (objects.py), and tasks search their objects
round by round (job.py).
"""
