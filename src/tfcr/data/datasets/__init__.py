"""Datasets by name: the paper's sixteen, and others."""
