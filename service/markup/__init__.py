"""HTML and XML in, running text out to be translated, and the same markup around what comes back."""
