"""Many stored histories on Spark: a lake of Parquet tables, and what is computed from it.

Reading order: schema.py (the tables), lake.py (which files belong to the lake), session.py (how
Spark is started), ingest, check, figures. Only modules that compute import pyspark, and inside the
function that needs it: `harness --help` does not load it.
"""
