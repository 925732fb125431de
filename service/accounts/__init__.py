"""API keys with their scopes, quotas and usage, and rate limits.

Uses no web framework: a server calls `accounts.Accounts` from its worker threads and `rates.Rates` from its
event loop; `errors` has what both raise.
"""
