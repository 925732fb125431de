"""What runs inside the other engines' own virtual environment: nothing here imports `dragoman`."""
