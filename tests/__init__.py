"""The batteries over every norm and placement; packages, so that test modules can share their helpers."""
