"""A stand-in for a training engine, for tests of everything around one. Run it with `python3 -m coxswain_sleeper`."""
