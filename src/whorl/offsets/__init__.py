"""Offsets of consumer groups in stores outside the job: mirrored there, read from there, copied between them."""
