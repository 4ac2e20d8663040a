"""`python -m fake_llm` is `fake-llm`."""

import sys

from fake_llm._cli import main

sys.exit(main())
