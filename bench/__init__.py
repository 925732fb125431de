"""Measurements that anyone can run again; results lie in bench/results."""
