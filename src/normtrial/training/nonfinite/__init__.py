"""A step that is not finite: taken again, searched, kept as a bundle."""
