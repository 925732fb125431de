"""From a request's texts to their translations, whatever API they came by."""
