# SPDX-License-Identifier: MIT
"""Packages of other Debian suites and architectures, for the guests.

They are got with apt and its signatures through a root of its own below the cache: of
the host's configuration nothing is changed, and only its mirror (or $CORDON_MIRROR),
keys and proxy are used. What was got once is not asked for again.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
ARCHITECTURES = ("amd64", "arm64")


class NotToBeHad(Exception):
    pass


def run(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        raise NotToBeHad(f"{' '.join(map(str, command))}: {(done.stderr or done.stdout).strip()[-400:]}")
    return done.stdout


def find_mirror():
    """The one that this host takes Debian from."""
    if os.environ.get("CORDON_MIRROR"):
        return os.environ["CORDON_MIRROR"]
    if not shutil.which("apt-get"):
        raise NotToBeHad("there is no apt-get; $CORDON_MIRROR and apt are needed to get kernels")
    lines = run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]).splitlines()
    for uri in lines:
        if re.search(r"/debian/?$", uri):
            return uri
    raise NotToBeHad("no Debian mirror among apt's sources; name one in $CORDON_MIRROR")


class Store:
    """Packages below `top`; `suites` are those that may be asked for."""

    def __init__(self, top, suites):
        self.top = Path(top).resolve()
        self.suites = sorted(suites)
        self.is_updated = False

    def apt(self, tool, *words):
        root = self.top / "apt"
        options = {
            "Dir::Etc::sourcelist": root / "sources.list",
            "Dir::Etc::sourceparts": "/dev/null",
            "Dir::State": root / "state",
            "Dir::State::status": root / "status",
            "Dir::Cache": root / "cache",
            "APT::Sandbox::User": "root",  # or apt would complain of the directories
            "APT::Architectures": ",".join(ARCHITECTURES),
            "Acquire::Languages": "none",
        }
        flags = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        return run([f"apt-{tool}", "-q", *flags, *words], cwd=self.top / "debs")

    def update(self):
        if self.is_updated:
            return
        root = self.top / "apt"
        for name in ("state/lists/partial", "cache/archives/partial", "../debs"):
            (root / name).mkdir(parents=True, exist_ok=True)
        mirror, arches = find_mirror(), ",".join(ARCHITECTURES)
        sources = [f"deb [arch={arches} signed-by={KEYRING}] {mirror} {s} main\n" for s in self.suites]
        (root / "sources.list").write_text("".join(sources))
        (root / "status").touch()
        self.apt("get", "update")
        self.is_updated = True

    def newest(self, pattern, suite, arch):
        """(name, version) of the newest package of the suite whose name fits."""
        found = {}
        name = None
        for line in self.apt("cache", "madison", *self.names(pattern, arch)).splitlines():
            name, version, source = (part.strip() for part in line.split("|"))
            if f" {suite}/main {arch} " in f" {source} ":
                found[name.split(":")[0]] = version
        best = None
        for name, version in found.items():
            if best is None or is_newer(version, found[best]):
                best = name
        if best is None:
            raise NotToBeHad(f"no package of {suite} ({arch}) fits {pattern}")
        return best, found[best]

    def names(self, pattern, arch):
        names = [n.split(":")[0] for n in self.apt("cache", "pkgnames").splitlines()]
        fitting = sorted({n for n in names if re.search(pattern, n)})
        if not fitting:
            raise NotToBeHad(f"no package fits {pattern}")
        return [f"{n}:{arch}" for n in fitting]

    def unpack(self, pattern, suite, arch):
        """The directory with what the newest fitting package holds."""
        key = re.sub(r"[^A-Za-z0-9.+-]", "", f"{suite}-{arch}-{pattern}")
        place = self.top / "unpacked" / key
        if (place / "done").exists():
            return place / "files"
        self.update()
        name, version = self.newest(pattern, suite, arch)
        self.apt("get", "download", f"{name}:{arch}={version}")
        debs = sorted((self.top / "debs").glob(f"{name}_*_{arch}.deb"), key=os.path.getmtime)
        shutil.rmtree(place, ignore_errors=True)
        (place / "files").mkdir(parents=True)
        run(["dpkg-deb", "-x", debs[-1], place / "files"])
        debs[-1].unlink()
        (place / "done").write_text(f"{name} {version}\n")
        return place / "files"

    def has(self, pattern, suite, arch):
        key = re.sub(r"[^A-Za-z0-9.+-]", "", f"{suite}-{arch}-{pattern}")
        return (self.top / "unpacked" / key / "done").exists()


def is_newer(version, other):
    return subprocess.run(["dpkg", "--compare-versions", version, "gt", other], check=False).returncode == 0
