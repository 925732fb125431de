"""Who calls, what they may do, how much of it they have used, and the glossaries that are theirs.

Free of any web framework: `accounts.Accounts` is what a server asks from its worker threads, `rates.Rates`
what it asks from its event loop, and `errors` what both of them raise.
"""
