"""Verdicts for readers: `table` and `forest`, `markdown` and `page` made of them, `log`; `write` does all."""
