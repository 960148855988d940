"""The lake's histories judged by the checkers themselves: pure functions, and one Spark job."""
