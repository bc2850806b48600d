"""`python -m whorl` is `whorl`."""

from whorl.cli.main import main

main()
