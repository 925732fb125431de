"""What the commands do beside serving."""
