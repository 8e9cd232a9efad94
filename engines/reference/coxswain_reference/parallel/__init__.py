"""The three ways in which the work is divided among ranks."""
