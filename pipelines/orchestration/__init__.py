"""Dagster over the one code path of `plumbline run`: one concern a module, see definitions.py."""
