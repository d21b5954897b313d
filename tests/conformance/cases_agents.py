# SPDX-License-Identifier: MIT
"""The state of a coding agent (policy/agent.c) with its profile: what is listed can be written, all else can't, missing or not."""

from conform import READ_ONLY, rows, these_need

these_need("fs_carve", "fs_read", "protect_missing")

REFUSED = READ_ONLY | {"EEXIST", "EISDIR", "ENOTDIR", "ENOTEMPTY"}
POLICY = '[permissions.box]\nextends = ":agent-%s"\n[permissions.box.network]\nenabled = false\n'
STATE = {"claude": ".claude", "codex": ".codex", "pi": ".pi/agent"}
FILES = {"claude": "settings.json", "codex": "config.toml", "pi": "auth.json"}
DIRECTORIES = {"claude": "plugins", "codex": "skills", "pi": "extensions"}
LISTED = {"claude": "projects", "codex": "sessions", "pi": "sessions"}

for _agent, _state in STATE.items():
    _here = f"{{home}}/{_state}"
    _file, _directory, _listed = f"{_here}/{FILES[_agent]}", f"{_here}/{DIRECTORIES[_agent]}", f"{_here}/{LISTED[_agent]}"
    rows(
        f"what_{_agent}_obeys_can_not_be_made",
        refused=[f"create {_file}", f"symlink {LISTED[_agent]}/mine {_file}", f"rename {_listed}/mine {_file}",
                 f"link {_listed}/mine {_file}", f"mkdir {_directory}", f"create {_directory}",
                 f"symlink {LISTED[_agent]} {_directory}", f"rename {_listed}/dir {_directory}"],
        allowed=[f"append {_listed}/mine", "create {work}/new"],
        errors=REFUSED,
        control=None,
        policy=POLICY % _agent,
        tree={f"{_listed}/mine": "planted\n", f"{_listed}/dir/x": "planted\n"},
        watch=("{out}",),
    )
    rows(
        f"what_{_agent}_obeys_can_not_be_changed",
        refused=[f"write {_file}", f"append {_file}", f"unlink {_file}", f"rename {_listed}/mine {_file}",
                 f"rename {_file} {_listed}/old", f"create {_directory}/new", f"write {_directory}/one",
                 f"rename {_directory} {_listed}/old", f"exchange {_listed}/dir {_directory}", f"rename {_here} {{home}}/old"],
        allowed=[f"read {_file}", f"read {_directory}/one", f"append {_listed}/mine", "create {work}/new"],
        errors=REFUSED,
        policy=POLICY % _agent,
        tree={_file: "{}\n", f"{_directory}/one": "mine\n", f"{_listed}/mine": "planted\n", f"{_listed}/dir/x": "planted\n"},
        watch=("{out}", _directory),
    )
    # No list of what it obeys is needed: a name that nobody has thought of is as closed as any other.
    rows(
        f"what_is_not_listed_in_the_state_of_{_agent}_can_not_be_written",
        refused=[f"append {_here}/plain", f"create {_here}/unheard-of", f"mkdir {_here}/tmp", f"create {_here}/dir/y",
                 f"rename {_here}/plain {_here}/other", f"unlink {_here}/plain", f"rename {_listed} {_here}/moved"],
        allowed=[f"read {_here}/plain", f"append {_listed}/mine", f"write {_listed}/dir/x"],
        errors=REFUSED,
        policy=POLICY % _agent,
        tree={f"{_here}/plain": "mine\n", f"{_here}/dir/x": "mine\n", f"{_listed}/mine": "mine\n",
              f"{_listed}/dir/x": "mine\n"},
        watch=("{out}",),
    )
