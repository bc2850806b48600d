"""`python -m whorl.jvm.present`: exit 0 where a Java that serves is installed, 1 where not."""

from __future__ import annotations

import sys

from whorl.errors import WorldError
from whorl.jvm.java import find_java

if __name__ == "__main__":
    try:
        find_java()
    except WorldError:
        sys.exit(1)
