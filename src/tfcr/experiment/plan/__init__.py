"""What is asked for: grids of cells."""
