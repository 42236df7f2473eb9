"""Transformers assembled from sublayers, a placement and a norm. No loss inside."""
