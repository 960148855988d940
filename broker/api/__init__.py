"""One file per API, named after what it does. The table of all of them is in `table.py`."""
