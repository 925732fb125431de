"""Who may run what when: threads, the shares of clients in them, and the work on clients' files."""
