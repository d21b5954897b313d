# SPDX-License-Identifier: MIT
"""What the sanitizers of an instrumented program say, and what of it means nothing."""

import os
import re

# Said when a process ends that was cloned onto a stack of its own: nothing is wrong with that.
_NOISE = (r"(==\d+==WARNING: ASan is ignoring requested __asan_handle_no_return"
          r"|False positive error reports may follow|For details see .*issues/189).*\n")
_OF_TEXT, _OF_BYTES = re.compile(_NOISE), re.compile(_NOISE.encode())


def is_instrumented(program):
    """Whether it has the shadow of the address sanitizer, which takes more memory than a limit leaves."""
    with open(program, "rb") as file:
        return b"__asan_init" in file.read()


def without_leaks():
    """Variables for a program that may not start the process which looks for leaks at its end."""
    return {"ASAN_OPTIONS": ":".join(filter(None, (os.environ.get("ASAN_OPTIONS"), "detect_leaks=0")))}


def without_noise(said):
    return (_OF_BYTES if isinstance(said, bytes) else _OF_TEXT).sub(type(said)(), said)
