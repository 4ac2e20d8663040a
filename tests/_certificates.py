"""Leaves the HTTP libraries one certificate to trust: to parse a whole bundle takes longer than most tests, for each client.

Nothing is asked beyond this machine, and what the tests serve by TLS itself is either untrusted or told to its client.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

import certifi

END = "-----END CERTIFICATE-----\n"

_folder = tempfile.mkdtemp()
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
_file = Path(_folder, "one.pem")
_file.write_text(certifi.contents().partition(END)[0] + END, encoding="utf-8")
os.environ["SSL_CERT_FILE"] = str(_file)
os.environ.pop("SSL_CERT_DIR", None)
