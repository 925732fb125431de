"""HTTP code that all APIs share: protocol, authentication, limits, request bodies and errors."""
