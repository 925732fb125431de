"""The service under attack by hostile clients: effects on ordinary clients and on memory."""
