"""Scheduler: chooses the sources that run together."""
