"""Batch translation of files that can resume after a crash, for the command line and for jobs over HTTP."""
