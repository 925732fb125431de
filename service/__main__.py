"""`python -m service` is `dragoman`."""

from service.cli.app import main

main()
