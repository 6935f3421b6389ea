"""What everything else uses: atomic files, artefacts, archives, downloads, hardware, compiled code."""
