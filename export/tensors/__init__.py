"""Tensors in the files of other libraries, read without these libraries, one at a time."""
