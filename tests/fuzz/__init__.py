"""Fuzzing: hostile files, servers and texts against everything that reads them. Run by ``make fuzz``."""
