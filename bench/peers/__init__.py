"""Code that runs in the virtual environment of the other engines: nothing here imports `dragoman`."""
