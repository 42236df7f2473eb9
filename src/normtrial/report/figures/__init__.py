"""Drawings from run records: what is drawn of one run, of a sweep, and on the report's page."""
