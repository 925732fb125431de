"""`python -m service` is `dragoman`."""

from service.cli import main

main()
