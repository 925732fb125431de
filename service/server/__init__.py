"""The server: the application with all APIs, and the process that listens for its clients."""
