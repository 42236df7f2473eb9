"""Where text comes from: one small module a set, each ending in a `SOURCE`."""
