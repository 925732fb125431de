"""Order of the work: threads, the shares of clients in them, and the work on clients' files."""
