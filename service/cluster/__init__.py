"""The job engine on a Ray cluster: what a job lacks is translated by a pool of engines, wherever they run."""
