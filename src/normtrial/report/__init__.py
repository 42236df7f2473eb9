"""Figures and tables from run records alone; never imports torch, and matplotlib only when it draws."""
