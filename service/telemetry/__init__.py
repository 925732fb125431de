"""What the server tells of itself: metrics, logs and traces, and nothing of what its clients say."""
