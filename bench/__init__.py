"""Measurements of Whorl beside its peers. Figures of one run are comparable, of two are not."""
