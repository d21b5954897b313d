# SPDX-License-Identifier: MIT
"""A model of the access check of Windows: what a lowering of `explain --json` lets a command do.

An access list is walked in its order, and for each right the first entry that speaks of it decides. An
object's own denies come first, then its own allows, then what it inherits, nearest first. A protected list
inherits nothing. A token with restricting SIDs is checked twice; with WRITE_RESTRICTED the second
check is for writing alone. Who owns an object may change its list, in the check that has the owner's
SID. Deleting needs DELETE, or FILE_DELETE_CHILD on the directory above. It is a model: nothing here
was compared with a Windows.
"""

from dataclasses import dataclass

(READ_DATA, READ_EA, READ_ATTRIBUTES, EXECUTE, READ_CONTROL, SYNCHRONIZE, WRITE_DATA, APPEND, WRITE_EA, WRITE_ATTRIBUTES,
 DELETE, DELETE_CHILD, WRITE_DAC, WRITE_OWNER) = (1 << i for i in range(14))
GENERIC_READ = READ_DATA | READ_EA | READ_ATTRIBUTES | READ_CONTROL | SYNCHRONIZE
GENERIC_WRITE = WRITE_DATA | APPEND | WRITE_EA | WRITE_ATTRIBUTES | READ_CONTROL | SYNCHRONIZE
GENERIC_EXECUTE = EXECUTE | READ_ATTRIBUTES | READ_CONTROL | SYNCHRONIZE
MODIFY = GENERIC_READ | GENERIC_WRITE | GENERIC_EXECUTE | DELETE
FULL = MODIFY | DELETE_CHILD | WRITE_DAC | WRITE_OWNER
# What the second check of a WRITE_RESTRICTED token is for.
WRITING = FULL & ~(GENERIC_READ | GENERIC_EXECUTE)

EVERYONE, USERS, AUTHENTICATED, ADMINISTRATORS, SYSTEM = "S-1-1-0", "S-1-5-32-545", "S-1-5-11", "S-1-5-32-544", "S-1-5-18"
# What `access` of an entry of the lowering, and of one in a view, stands for.
LOWERED = {
    ("allow", "read"): GENERIC_READ | GENERIC_EXECUTE,
    ("allow", "write"): MODIFY,
    ("deny", "read"): READ_DATA | READ_EA | EXECUTE,
    ("deny", "write"): WRITE_DATA | APPEND | WRITE_EA | WRITE_ATTRIBUTES | DELETE | DELETE_CHILD | WRITE_DAC | WRITE_OWNER,
    ("deny", "delete"): DELETE,
}
OF_A_VIEW = {"read": GENERIC_READ | GENERIC_EXECUTE, "write": MODIFY, "full": FULL}


@dataclass(frozen=True)
class Ace:
    sid: str
    is_deny: bool
    mask: int
    inherits: bool = True
    only_below: bool = False


def allow(sid, mask, **more):
    return Ace(sid, False, mask, **more)


def parent(path):
    above, _, name = path.rstrip("\\").rpartition("\\")
    return above + "\\" if above.endswith(":") and name else above


def key(path):
    """As the table of NTFS compares: a capital that is no other letter's."""
    return "".join(c.upper() if c.upper().lower() == c else c for c in path)


def usual(path, home):
    """(protected, entries) of a fresh Windows 11, simplified; None: what is inherited."""
    system = [allow(SYSTEM, FULL), allow(ADMINISTRATORS, FULL)]
    reading = [allow(USERS, GENERIC_READ | GENERIC_EXECUTE)]
    at = key(path)
    if at.endswith(":\\"):
        return True, [*system, *reading, allow(AUTHENTICATED, MODIFY, only_below=True), allow(AUTHENTICATED, APPEND, inherits=False)]
    if at in map(key, ("C:\\Windows", "C:\\Program Files", "C:\\Program Files (x86)")):
        return True, [*system, *reading]
    if at == key("C:\\ProgramData"):
        return True, [*system, *reading, allow(USERS, WRITE_DATA | APPEND | WRITE_EA | WRITE_ATTRIBUTES)]
    if at == key("C:\\Users"):
        return True, [*system, *reading, allow(EVERYONE, GENERIC_READ | GENERIC_EXECUTE)]
    if key(parent(path)) == key("C:\\Users") or at == key(home):
        return True, [*system, allow("user" if at == key(home) else "somebody", FULL)]
    return None


class Object:
    def __init__(self, path, is_protected, own):
        self.path, self.is_protected, self.own = path, is_protected, list(own)


class Machine:
    def __init__(self, view):
        self.home = view.get("home") or "C:\\Users\\me"
        self.objects = {}
        self.owner = "user"
        for path in ("C:\\Windows", "C:\\Program Files", "C:\\Program Files (x86)", "C:\\ProgramData", self.home, view["cwd"]):
            self.make(path)
        for path, what in view["files"].items():
            made = self.make(path)
            if isinstance(what, dict):
                made.is_protected = made.is_protected or what.get("protected", False)
                made.own += [Ace(a["sid"], a.get("type") == "deny", OF_A_VIEW[a["access"]], a.get("inherit", False))
                             for a in what.get("acl", [])]

    def make(self, path):
        if key(path) in self.objects:
            return self.objects[key(path)]
        if parent(path):
            self.make(parent(path))
        is_protected, own = usual(path, self.home) or (False, ())
        self.objects[key(path)] = Object(path, is_protected, own)
        return self.objects[key(path)]

    def exists(self, path):
        return key(path) in self.objects

    def apply(self, lowered):
        for root in lowered["read_roots"]:
            self.make(root).own.append(allow("group", LOWERED["allow", "read"]))
        for a in lowered["acl"]:
            assert a["access"] != "delete" or not a["inherit"], a
            self.make(a["path"]).own.append(Ace(a["sid"], a["type"] == "deny", LOWERED[a["type"], a["access"]], a["inherit"]))

    def access_list(self, path):
        """Also of what does not exist: as it would be made."""
        found = self.objects.get(key(path)) or Object(path, False, ())
        own = sorted(found.own, key=lambda a: not a.is_deny)
        if found.is_protected or not parent(path):
            return own
        above = [a for a in self.access_list(parent(path)) if a.inherits]
        return own + [Ace(a.sid, a.is_deny, a.mask) for a in above]

    def walk(self, path, sids, wanted):
        """Whether each right of `wanted` is allowed before it is denied."""
        if self.owner in sids:
            wanted &= ~(READ_CONTROL | WRITE_DAC)
        for ace in self.access_list(path):
            if ace.sid not in sids or ace.only_below:
                continue
            if ace.is_deny and ace.mask & wanted:
                return False
            if not ace.is_deny:
                wanted &= ~ace.mask
        return wanted == 0


class Command:
    """What runs with the token of a lowering, on a machine that has its entries."""

    def __init__(self, machine, lowered):
        account = lowered["identity"]
        names = {"logon", EVERYONE, USERS, AUTHENTICATED}
        self.machine = machine
        self.sids = names | ({account, "group"} if account else {"user"})
        self.restricting = set(lowered["token"]["restricting"])
        assert "WRITE_RESTRICTED" in lowered["token"]["flags"] and "LUA_TOKEN" in lowered["token"]["flags"]
        assert not self.restricting & {EVERYONE, USERS, AUTHENTICATED, ADMINISTRATORS, "user", "group", "offline", "online"}

    def has(self, path, rights):
        if not self.machine.walk(path, self.sids, rights):
            return False
        return not rights & WRITING or self.machine.walk(path, self.restricting, rights & WRITING)

    def reads(self, path):
        return self.has(path, READ_DATA)

    def executes(self, path):
        return self.has(path, EXECUTE)

    def writes(self, path):
        """Into what is there; else: makes it, and what is missing above it."""
        if self.machine.exists(path):
            return self.has(path, WRITE_DATA | APPEND)
        while not self.machine.exists(path):
            path = parent(path)
        return self.has(path, WRITE_DATA | APPEND)

    def deletes(self, path):
        return self.has(path, DELETE) or self.has(parent(path), DELETE_CHILD)

    def changes_list(self, path):
        return self.has(path, WRITE_DAC) or self.has(path, WRITE_OWNER)
