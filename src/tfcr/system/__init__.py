"""What everything stands on: atomic files, archives, downloads, hardware, compiled code."""
