"""Processes that charge one key."""

import subprocess
import sys

from service.accounts.database import Database
from service.accounts.key_store import KeyStore
from service.accounts.usage import UsageStore
from tests.paths import ROOT
from tests.service.accounts.conftest import new_key
from tests.service.accounts.test_charging import MONTH


def test_concurrent_processes_cannot_exceed_the_limit(url: str, database: Database, keys: KeyStore) -> None:
    key_id = new_key(keys).key.id
    command = [sys.executable, "-m", "tests.commands.service.charging", url, key_id, "400", "3"]
    processes = [
        subprocess.Popen(command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    num_passed = [int(process.communicate(timeout=120)[0]) for process in processes]
    assert sum(num_passed) == 133  # 133 * 3 = 399
    assert UsageStore(database).get_month(key_id, MONTH).characters == 399
