# SPDX-License-Identifier: MIT
"""The programs of a guest, its initramfs, and its boot."""

import lzma
import os
import shutil
import subprocess
import time
from pathlib import Path

from packages import run

HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent
SUITE = "bookworm"  # of what is in a guest besides the kernel
LIBRARIES = ("libc6", "libcap2", "libselinux1", "libpcre2-8-0")  # of bwrap
CPU = {"amd64": "x86_64", "arm64": "aarch64"}
PROBE = sorted((HERE.parent / "conformance").glob("probe*.c"))
# net/unix/unix_diag: Debian's systems load it when it is asked for.
MODULES = ("unix_diag",)


def compiler(arch):
    """Static programs, with musl."""
    if arch == "amd64":
        specs, headers, gcc = "musl.specs", "musl-include", "gcc"
    else:
        specs, headers = f"musl-{CPU[arch]}.specs", f"musl-include-{CPU[arch]}"
        gcc = f"{CPU[arch]}-linux-gnu-gcc"
    return [gcc, f"-specs={TOP}/build/{specs}", "-isystem", f"{TOP}/build/{headers}", "-fPIE", "-O1", "-D_GNU_SOURCE"]


def build_cordon(store, arch):
    if arch == "amd64":
        return TOP / "build" / "cordon"
    build = TOP / "build" / CPU[arch]
    musl = store.unpack("^musl-dev$", SUITE, arch)
    link = TOP / "build" / "kernels" / CPU[arch]
    if not link.exists():
        link.symlink_to(musl)
    if not (build / "build.ninja").exists():
        run([TOP / "scripts" / "configure", CPU[arch]])
    run(["ninja", "-C", build])
    return build / "src" / "cordon"


def build_programs(store, arch, out):
    """cordon, the probe and what the guest runs itself with, in `out`."""
    out.mkdir(parents=True, exist_ok=True)
    shutil.copy(build_cordon(store, arch), out / "cordon")
    for name, sources in (("probe", PROBE), ("guest", [HERE / "guest.c"])):
        run([*compiler(arch), "-o", out / name, *sources])
    return out


# ---- The initramfs -----------------------------------------------------------------


class Archive:
    """A cpio archive in the form that the kernel reads."""

    def __init__(self):
        self.parts, self.inode, self.known = [], 1, set()

    def add(self, name, mode, data=b""):
        name = name.strip("/")
        parent = os.path.dirname(name)
        if parent and parent not in self.known:
            self.directory(parent)
        if name in self.known:
            return
        self.known.add(name)
        self.inode += 1
        raw = name.encode() + b"\0"
        fields = [self.inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(raw), 0]
        head = b"070701" + b"".join(b"%08x" % f for f in fields) + raw
        self.parts += [head, b"\0" * (-len(head) % 4), data, b"\0" * (-len(data) % 4)]

    def directory(self, name):
        self.add(name, 0o040755)

    def file(self, name, source, mode=0o755):
        data = source if isinstance(source, bytes) else Path(source).read_bytes()
        self.add(name, 0o100000 | mode, data)

    def link(self, name, target):
        self.add(name, 0o120777, os.fsencode(target))

    def bytes(self):
        self.known.discard("TRAILER!!!")
        self.inode = 0
        self.add("TRAILER!!!", 0)
        return b"".join(self.parts)


def add_libraries(archive, root):
    """The shared libraries of an unpacked package, where they belong."""
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if not ("lib" in name.split("/")[0:2] or name.startswith("lib64")) or ".so" not in path.name:
            continue
        if "gconv" in name or "/audit" in name:
            continue
        if path.is_symlink():
            archive.link(name, os.readlink(path))
        elif path.is_file():
            archive.file(name, path)


def module_bytes(root, name):
    for path in root.rglob(f"{name}.ko*"):
        data = path.read_bytes()
        return lzma.decompress(data) if path.suffix == ".xz" else data
    return None


def base_archive(store, arch, programs):
    """All but the modules and the steps."""
    archive = Archive()
    for name in ("proc", "new", "dev", "check/modules"):
        archive.directory(name)
    # Somewhere to write to before there is a /dev.
    archive.file("bin/busybox", store.unpack("^busybox-static$", SUITE, arch) / "bin" / "busybox")
    for name in ("guest", "probe"):
        archive.file(f"bin/{name}", programs / name)
    archive.file("usr/bin/cordon", programs / "cordon")
    archive.file("usr/bin/bwrap", store.unpack("^bubblewrap$", SUITE, arch) / "usr" / "bin" / "bwrap")
    for library in LIBRARIES:
        add_libraries(archive, store.unpack(f"^{library}$", SUITE, arch))
    archive.file("etc/passwd", b"root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/home:/bin/sh\n", 0o644)
    archive.file("etc/group", b"root:x:0:\nuser:x:1000:\n", 0o644)
    for name in ("init", "guest.sh", "config.toml"):
        archive.file(f"check/{name}", HERE / name)
    archive.link("init", "check/init")
    return archive


# ---- The boot ----------------------------------------------------------------------

# Without cx16: that of qemu 7.2 ruins the flags when it is interrupted, and kernels from 6.12
# on, which use it to get memory, die of it.
MACHINES = {
    "amd64": ["qemu-system-x86_64", "-M", "q35", "-cpu", "qemu64,-cx16"],
    "arm64": ["qemu-system-aarch64", "-M", "virt", "-cpu", "cortex-a57"],
}
CONSOLES = {"amd64": "ttyS0", "arm64": "ttyAMA0"}


def read_serial(serial, took=0):
    """What boot() returns, of a boot that was."""
    text = Path(serial).read_bytes().decode("utf-8", "backslashreplace")
    lines = [line.strip("\r") for line in text.split("\n")]
    return lines, took, "@end" in lines


def boot(arch, kernel, image, words, serial, seconds):
    """(lines on the serial line, seconds it took, whether it ended by itself)

    `serial` is the file to which they go, while they come.
    """
    console = f"console={CONSOLES[arch]} quiet loglevel=1 panic=-1 rdinit=/init {words}"
    command = [*MACHINES[arch], "-accel", "tcg,thread=multi", "-m", "768", "-nographic", "-nodefaults",
               "-serial", "stdio", "-no-reboot", "-kernel", kernel, "-initrd", image, "-append", console]
    start = time.monotonic()
    with open(serial, "wb") as out, subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
    ) as guest:
        try:
            guest.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            guest.kill()
    return read_serial(serial, time.monotonic() - start)
