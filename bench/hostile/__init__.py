"""The service among clients that mean it ill: what becomes of the others, and of its memory."""
