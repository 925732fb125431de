"""The settings of an operator, and the environment variables and folders that they are read from."""
