"""LibreTranslate's API, as its clients use it, over the desk that all APIs share."""
