#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_child_symbols.py BUILD: what runs between fork and exec calls only what it may.

In a threaded program another thread may hold the lock of malloc() or of stdio at
the moment of the fork, and nobody will ever release it in the child. So the
objects of those files may need nothing but async-signal-safe functions, thin
wrappers of system calls, and each other.

The proxy is such a child for all its life. It may need more of ours too (texts in room
that is given), but nothing that allocates, and of the C library nothing that locks.
"""

import subprocess
import sys
from pathlib import Path

CHILDREN = """backend_command_child backend_none_none_child backend_native_child
backend_inner_child backend_inner_lock_child backend_inner_network_child
backend_landlock_monitor_child
backend_native_child_mounts backend_bwrap_spawn_child linux_init_init linux_notify_connector
os_linux_child os_linux_fd os_linux_fd_pass os_posix_child os_posix_spawned""".split()

SAFE = set(
    """_exit access chdir clock_gettime clone close dup2 execve faccessat fchdir fchmod fcntl fcntl64 flock fstat fstat64
    getpgid getpgrp getpid getppid getrlimit getrlimit64 getrusage ioctl kill lseek lseek64 memcpy memset mkdirat mmap mmap64 open open64 openat openat64 poll prctl
    read recv recvmsg send sendmsg setpgid setsockopt htons htonl ntohs ntohl setsid sigaction sigaddset sigemptyset signal signalfd
    sigprocmask pthread_setcancelstate pthread_sigmask socket socketpair strchr strlen strncmp strrchr symlinkat syscall tcgetpgrp tcsetpgrp
    umask unshare vfork wait4 waitid waitpid write
    __errno_location __open64_2 __open_2 __memcpy_chk __memset_chk __stack_chk_fail __read_chk __poll_chk
    _GLOBAL_OFFSET_TABLE_""".split()
)

PARENTS = ["proxy_proxy"]  # its other side
PROXY_CALLS = "os_posix_changed_file os_posix_memory os_posix_socket os_linux_pipe os_linux_random os_linux_socket".split()
PROXY_SAFE = SAFE | set(
    """accept4 bind connect explicit_bzero __explicit_bzero_chk geteuid getppid getrandom getsockname getsockopt if_nametoindex listen memchr memcmp memmove __memmove_chk munmap pipe2
    setrlimit setrlimit64 shutdown splice stat stat64 strcmp strnlen strrchr""".split()
)
ALLOCATING = ("mem_new", "mem_resize", "mem_free")


def symbols(obj, *flags):
    text = subprocess.run(["nm", *flags, obj], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1] for line in text.splitlines() if line.strip()}


def main():
    objects = Path(sys.argv[1]) / "src" / "libcordon_core.a.p"
    files = [objects / f"{name}.c.o" for name in CHILDREN]
    missing = [str(f) for f in files if not f.exists()]
    if missing:
        sys.exit(f"child symbols: not built: {' '.join(missing)}")
    own = set().union(*(symbols(f, "--defined-only") for f in files))
    bad = [(f.name, s) for f in files for s in sorted(symbols(f, "-u") - SAFE - own)]
    proxy = sorted(f for f in objects.glob("proxy_*.c.o") if f.name[: -len(".c.o")] not in PARENTS)
    ours = set().union(*(symbols(f, "--defined-only") for f in objects.glob("*.o"))) - set(ALLOCATING)
    bad += [(f.name, s) for f in proxy for s in sorted(symbols(f, "-u") - PROXY_SAFE - ours)]
    bad += [(f, s) for f in PROXY_CALLS for s in sorted(symbols(objects / f"{f}.c.o", "-u") - PROXY_SAFE - ours)]
    if not proxy:
        sys.exit("child symbols: the proxy is not built")
    for name, symbol in bad:
        print(f"{name}: {symbol} is not known to be safe after a fork without exec", file=sys.stderr)
    print(f"child symbols: {len(files) + len(proxy) + len(PROXY_CALLS)} objects, {len(bad)} problems")
    sys.exit(1 if bad else 0)


main()
