# SPDX-License-Identifier: MIT
"""What a coding agent obeys (policy/agent.c) beside the state that it saves: with its profile, missing or not."""

from conform import READ_ONLY, rows, these_need

these_need("fs_carve", "fs_read", "protect_missing")

REFUSED = READ_ONLY | {"EEXIST", "EISDIR", "ENOTDIR", "ENOTEMPTY"}
POLICY = '[permissions.box]\nextends = ":agent-%s"\n[permissions.box.network]\nenabled = false\n'
STATE = {"claude": ".claude", "codex": ".codex", "pi": ".pi/agent"}
FILES = {"claude": "settings.json", "codex": "config.toml", "pi": "auth.json"}
DIRECTORIES = {"claude": "plugins", "codex": "skills", "pi": "extensions"}

for _agent, _state in STATE.items():
    _here = f"{{home}}/{_state}"
    _file, _directory = f"{_here}/{FILES[_agent]}", f"{_here}/{DIRECTORIES[_agent]}"
    rows(
        f"what_{_agent}_obeys_can_not_be_made",
        refused=[f"write {_file}", f"unlink {_file}", f"symlink plain {_file}", f"rename {_here}/plain {_file}",
                 f"link {_here}/plain {_file}", f"mkdir {_directory}/x", f"create {_directory}/x",
                 f"symlink plain {_directory}", f"rename {_here}/dir {_directory}"],
        allowed=[f"append {_here}/plain", "create {work}/new"],
        errors=REFUSED,
        control=None,
        policy=POLICY % _agent,
        tree={f"{_here}/plain": "planted\n", f"{_here}/dir/x": "planted\n"},
        watch=("{out}",),
    )
    rows(
        f"what_{_agent}_obeys_can_not_be_changed",
        refused=[f"write {_file}", f"append {_file}", f"unlink {_file}", f"rename {_here}/plain {_file}",
                 f"rename {_file} {_here}/old", f"create {_directory}/new", f"write {_directory}/one",
                 f"rename {_directory} {_here}/old", f"exchange {_here}/dir {_directory}", f"rename {_here} {{home}}/old"],
        allowed=[f"read {_file}", f"read {_directory}/one", f"append {_here}/plain", "create {work}/new"],
        errors=REFUSED,
        policy=POLICY % _agent,
        tree={_file: "{}\n", f"{_directory}/one": "mine\n", f"{_here}/plain": "planted\n", f"{_here}/dir/x": "planted\n"},
        watch=("{out}", _directory),
    )
