"""Memory that one step frees and the next one takes again: kept, not given back to the system in between.

A step makes and drops some hundred megabytes. glibc returns what lies free at the end of its heap, and gets the
largest blocks from the system each time; every page of them is then found missing, and cleared, once more.
"""

import ctypes
import platform

# Numbers and meaning: mallopt(3). The largest that the options take.
TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD = -1, -2, -3
OPTIONS = {TRIM_THRESHOLD: 2**31 - 1, TOP_PAD: 256 * 2**20, MMAP_THRESHOLD: 32 * 2**20}


def keep_freed_memory() -> bool:
    """Have the allocator of this process keep what is freed. False where it is none of glibc's, which is left alone."""
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    told = [mallopt(option, value) for option, value in OPTIONS.items()]
    return all(told)
