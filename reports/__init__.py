"""A stored run in; page, plots and JUnit out."""
