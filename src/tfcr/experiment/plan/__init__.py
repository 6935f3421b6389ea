"""What to run: requests, grids of cells, systems."""
