"""Charges a key from several threads until its quota is used up, and prints how many charges passed.

Run as a script with the database's URL, the key's id, its limit and the characters of a charge. It says
`ready`, and begins when a line comes in.
"""

import sys
from concurrent.futures import ThreadPoolExecutor

from service.accounts.database import Database
from service.accounts.errors import QuotaExceeded
from service.accounts.usage import Charge, UsageStore

NUM_THREADS = 4


def charge_until_full(database: Database, charge: Charge, limit: int) -> int:
    """How many charges passed."""
    usage, num_passed = UsageStore(database), 0
    while True:
        try:
            usage.charge(charge, limit)
        except QuotaExceeded:
            return num_passed
        num_passed += 1


def charge_from_threads(database: Database, charge: Charge, limit: int) -> int:
    with ThreadPoolExecutor(NUM_THREADS) as threads:
        runs = [threads.submit(charge_until_full, database, charge, limit) for _ in range(NUM_THREADS)]
        return sum(run.result() for run in runs)


def main() -> None:
    url, key_id, limit, characters = sys.argv[1:]
    database = Database.open(url)
    print("ready", flush=True)  # noqa: T201 -- the one who started it waits
    sys.stdin.readline()
    num_passed = charge_from_threads(database, Charge(key_id, "2026-11", int(characters), 0), int(limit))
    print(num_passed)  # noqa: T201 -- its result
    database.close()


if __name__ == "__main__":
    main()
