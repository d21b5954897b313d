#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What --json and --report write is what schemas/ says, with every command and for errors."""

import copy
import json
import re
import socket

from cli import World, case, change, run, run_cases
import schema  # tests/support, which cli makes known

CONFIG = ('default_permissions = "dev"\n[permissions.dev]\nextends = ":workspace"\n'
          '[permissions.dev.filesystem]\n"~/secret" = "deny"\n"~/**/*.key" = "deny"\n'
          '[permissions.dev.network]\nenabled = true\n[permissions.dev.network.domains]\n'
          '"registry.example" = "allow"\n"bad.example" = "deny"\n')
SRT = ('{"network": {"allowedDomains": [], "deniedDomains": []},\n "filesystem": {"allowWrite": [".", "*.o"], '
       '"denyRead": ["~/secret"], "denyWrite": ["keys"]}}\n')
NAMES = {path.stem for path in schema.SCHEMAS.glob("*.json")}


def valid(w, *args, name, status=0, **kwargs):
    """The output of a command, which is valid and of that schema."""
    found = w.run(*args, check=status, **kwargs).json
    assert found["schema"] == name + "/1" and name + "-1" in NAMES, found["schema"]
    schema.check(found)
    return found


def rejects(value):
    try:
        schema.check(value)
    except schema.Invalid:
        return True
    return False


@case
def every_schema_is_a_schema(w: World):
    assert len(NAMES) == 24, NAMES
    for name in NAMES:
        one = schema.Schema(name)
        assert one.root["$schema"] == "https://json-schema.org/draft/2020-12/schema", name
        assert one.root["$id"] == f"urn:cordon:schema:{name.rpartition('-')[0]}:1", name
        try:
            one.check({})
        except schema.Invalid as reason:
            assert "unknown keyword" not in str(reason), reason
        else:
            raise AssertionError(f"{name} allows anything")


@case
def the_validator_refuses_what_is_wrong(w: World):
    found = valid(w, "check", "--json", name="check")
    for change_it in (lambda v: v.pop("files"), lambda v: v.update(more=1), lambda v: v.update(ok=1),
                      lambda v: v.update(files=[1]), lambda v: v.update(version=None)):
        wrong = copy.deepcopy(found)
        change_it(wrong)
        assert rejects(wrong), wrong


@case
def approvals(w: World):
    valid(w, "approvals", "--json", name="approvals")
    path = w.config.parent / "approvals.toml"
    w.write_config("")
    path.write_text('version = 1\n[[grant]]\nid = "0123456789ab"\nkind = "write"\nsubject_hex = "2f61ff"\n'
                    'profile = "p"\ndate = 2026-11-18T19:42:06Z\nby = "tty"\n# end\n', encoding="utf-8")
    path.chmod(0o600)
    assert valid(w, "approvals", "--json", name="approvals")["approvals"][0]["subject_base64"] == "L2H/"
    valid(w, "approvals", "revoke", "0123456789ab", "--json", name="approvals")
    path.write_text("", encoding="utf-8")
    assert valid(w, "approvals", "--json", name="approvals", status=125)["unusable"]


@case
def patches(w: World):
    patch = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch"
    move = "*** Begin Patch\n*** Update File: a\n*** Move to: b\n-x\n+y\n*** End Patch"
    for words in (["--dry-run", patch], [patch], ["--atomic", move]):
        valid(w, "apply-patch", "--full-auto", "--json", *words, name="apply-patch")
    schema.check(w.run("apply-patch", "--full-auto", "--json", move, check=1).json)


@case
def configuration(w: World):
    valid(w, "check", "--json", name="check")
    valid(w, "profiles", "--json", name="profiles")
    valid(w, "agent", "--json", name="agents")
    for name in (":read-only", ":workspace", ":danger-full-access"):
        valid(w, "profiles", name, "--json", name="profile")
        valid(w, "explain", "-P", name, "--json", name="explain")
    w.write_config(CONFIG)
    valid(w, "check", "--json", name="check")
    valid(w, "check", "--syntax-only", str(w.config), "--json", name="check-syntax")
    valid(w, "profiles", "dev", "--json", name="profile")
    valid(w, "explain", "--json", name="explain")
    valid(w, "explain", "--platform", "macos", "--json", name="explain")
    view = {"view": 1, "platform": "windows", "home": "C:\\me", "cwd": "C:\\me\\r", "files": {"C:\\me\\r\\a": "dir"}}
    windows = ("--platform", "windows", "--host-view", str(w.write("view.json", json.dumps(view))), "--json")
    for more in (("--full-auto",), ("--full-auto", "--allow-host", "a.example"), ("--deny", "C:\\me\\r\\a")):
        for backend in ("win_token", "win_elevated"):
            valid(w, "explain", *windows, "--backend", backend, *more, name="explain")
    valid(w, "why", *windows, "--path", "C:\\me\\r\\a", name="why")
    w.write_config("default_permissions = 1\nunknown = 2\n")
    found = valid(w, "check", "--json", name="check", status=125)
    assert found["errors"] and not found["ok"], found
    valid(w, "init", "--json", str(w.repo / "new.toml"), name="init")
    settings = w.repo / "srt.json"
    settings.write_text(SRT)
    found = valid(w, "import", "srt", "srt.json", "--json", name="import")
    assert found["written"] is None and found["directory"] is None and found["notes"][0]["line"] == 2, found
    assert valid(w, "import", "srt", "srt.json", "-o", "i.toml", "--json", name="import")["written"].endswith("/i.toml")


@case
def answers(w: World):
    w.write_config(CONFIG)
    for path in (".", "/", "/etc/passwd", "/dev/null", "/proc/1", "~/secret", "./x.key", "./missing"):
        for words in ((), ("--write",)):
            found = w.run("why", "--json", path, *words).json
            schema.check(found)
            assert found["kind"] == "path" and found["wanted"], found
    for host in ("registry.example", "bad.example:443", "other.example", "127.0.0.1:80", "localhost",
                 "10.0.0.1", "[::1]:8080"):
        for words in ((), ("--network", "off"), ("--network", "full"), ("-P", ":read-only")):
            found = w.run("why", "--json", "--host", host, *words).json
            schema.check(found)
            assert found["kind"] == "host", found
    found = w.run("why", "--json", "--host", "other.example").json
    assert found["suggestions"][0]["argv"] == ["--allow-host", "other.example"], found
    assert change(found)["edits"][0]["file"] == str(w.config), found
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(w.repo / "s"))
        found = w.run("why", "--json", "./s").json
        schema.check(found)
        assert found["connect"]["decision"] == "deny" and found["suggestions"], found


@case
def runs(w: World):
    report = w.top / "report.json"

    def reported(*words, status=0):
        result = run(w, "-q", "--report", str(report), *words)
        assert result.status == status, result
        found = json.loads(report.read_text())
        schema.check(found)
        return found

    assert reported("true")["schema"] == "run/1"
    assert reported("--backend", "none", "sh", "-c", "exit 3", status=3)["sandboxed"] is False
    assert reported("--timeout", "50ms", "sleep", "5", status=124)["timed_out"] is True
    missing = reported("no-such-program", status=127)
    assert missing["executed"] is False and missing["exec_cause"] == "command_not_found", missing
    assert reported("/etc/passwd", status=126)["exec_cause"] == "command_not_executable"
    assert reported("--mode", "workspace-write", "sh", "-c", "mkdir sub; git init -q sub; :")["git"]["looked"]
    w.write_config(CONFIG)
    first, second = reported("true"), reported("true")
    assert first["traffic"] is not None and first["run"] != second["run"], first
    found = reported("--backend", "nothing", "true", status=125)
    assert found["schema"] == "error/1" and found["executed"] is False, found
    assert found["error"]["cause"] == "unknown_backend", found
    for option, cause in (("--accept-missing", "unknown_guarantee"), ("--platform", "unknown_platform")):
        found = reported(option, "nothing", "true", status=125)
        assert found["error"]["cause"] == cause, found
    valid(w, "run", "--dry-run", "--json", "--", "true", name="dry-run")
    valid(w, "run", "--dry-run", "--json", "--publish", "8080:80", "--host-port", "5432", "--", "true", name="dry-run")


@case
def a_denial_has_a_rule_and_a_suggestion_that_works(w: World):
    report = w.top / "report.json"
    path = str(w.top / "s")
    connect = f"import socket; socket.socket(socket.AF_UNIX).connect({path!r})"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        run(w, "-q", "--report", str(report), "python3", "-c", connect)
        found = json.loads(report.read_text())
        schema.check(found)
        (denial,) = found["denials"]
        assert set(denial["rule"]) == {"text", "file", "line"} and denial["rule"]["text"], denial
        suggestion, config = denial["suggestions"]
        assert suggestion["scope"] == "run" and suggestion["argv"] == ["--allow-socket", path], denial
        (edit,) = [edit for edit in config["edits"] if edit["table"].endswith("unix_sockets")]
        assert config["scope"] == "config" and (json.loads(edit["key"]), edit["value"]) == (path, '"allow"'), denial
        assert run(w, "-q", *suggestion["argv"], "python3", "-c", connect).status == 0


@case
def the_messages_of_approvals(w: World):
    text = (schema.SCHEMAS.parent / "docs/approvals.md").read_text()
    blocks = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    request = json.loads(blocks[0])
    schema.check(request, "approval-request-1")
    schema.check({"v": 1, "type": "withdrawn", "id": 7}, "approval-request-1")
    answers = [json.loads(line) for line in blocks[1].splitlines()]
    assert len(answers) == 3, answers
    for one in answers:
        schema.check(one, "approval-answer-1")
    for name, one in [("request", {**request, "id": 0}), ("request", {**request, "more": 1}),
                      ("answer", {**answers[1], "rest": True}), ("answer", {**answers[1], "scope": "minutes:0"}),
                      ("answer", {**answers[2], "scope": "run"}), ("answer", {**answers[0], "grant": {"kind": "write"}})]:
        try:
            schema.check(one, f"approval-{name}-1")
        except schema.Invalid:
            continue
        raise AssertionError(f"{name} takes {one}")


@case
def the_events_of_a_run(w: World):
    log = w.top / "events.jsonl"
    path = str(w.top / "s")
    connect = f"import socket; socket.socket(socket.AF_UNIX).connect({path!r})"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        run(w, "-q", "--events", str(log), "--report", str(w.top / "report"), "python3", "-c", connect)
    events = [json.loads(line) for line in log.read_text().splitlines()]
    for one in events:
        schema.check(one, "event-1")
    report = json.loads((w.top / "report").read_text())
    assert [one["event"] for one in events] == ["start", "denial", "end"], events
    assert {one["run"] for one in events} == {report["run"]}, events
    (denial,) = report["denials"]
    del denial["suggestions"], denial["denied_by"]
    assert events[1] == {"v": 1, "event": "denial", "run": report["run"], **denial}, events
    assert events[2]["status"] == report["status"] != 0, events


@case
def doctor(w: World):
    found = valid(w, "doctor", "--json", name="doctor")
    assert all(one["suggestions"][0]["scope"] == "host" for one in found["advice"]), found
    valid(w, "doctor", "--clean", "--json", name="doctor")


@case
def the_audit_log(w: World):
    log = w.top / "audit.jsonl"
    run(w, "-q", "--allow-host", "registry.example", "--audit", str(log), "sh", "-c",
        "curl -s http://other.example/; curl -s https://127.0.0.2/; :")
    for line in w.ok("audit", "--json", str(log)).out.splitlines():
        schema.check(json.loads(line), "audit-entry-1")
    valid(w, "audit", "--summary", "--json", str(log), name="audit-summary")


@case
def errors(w: World):
    for args in (("why", "--json", "--host", "*.example"), ("why", "--json", "x", "-P", "none"),
                 ("explain", "--json", "--platform", "amiga"), ("audit", "--json"),
                 ("check", "--json", "--syntax-only", "/missing.toml"), ("run", "--json", "--frob", "--", "true")):
        found = valid(w, *args, name="error", status=w.run(*args).status)
        assert found["error"]["cause"] and found["error"]["message"], found
    w.write_config("x = \n")
    found = valid(w, "explain", "--json", name="error", status=125)
    assert found["error"]["line"] == 1 and found["error"]["cause"] == "toml_syntax", found


run_cases()
