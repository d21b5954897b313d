# SPDX-License-Identifier: MIT
"""A strict validator for the part of JSON Schema (2020-12) that schemas/ uses.

A keyword that it does not know is an error, so that no schema can promise what nobody checks.
"""

import json
import re
from pathlib import Path

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"
ANNOTATIONS = {"$schema", "$id", "$defs", "title", "description"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


class Invalid(Exception):
    pass


def has_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


class Schema:
    def __init__(self, name):
        self.root = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))

    def check(self, value):
        self.check_one(self.root, value, "$")

    def check_one(self, schema, value, at):
        for keyword, argument in schema.items():
            if keyword in ANNOTATIONS:
                continue
            method = getattr(self, "check_" + keyword.lstrip("$"), None)
            if method is None:
                raise Invalid(f"{at}: the schema has the unknown keyword {keyword}")
            method(schema, argument, value, at)

    def check_type(self, _schema, argument, value, at):
        names = [argument] if isinstance(argument, str) else argument
        if not any(has_type(value, name) for name in names):
            raise Invalid(f"{at}: {value!r} is no {' or '.join(names)}")

    def check_properties(self, _schema, argument, value, at):
        for name, schema in argument.items():
            if isinstance(value, dict) and name in value:
                self.check_one(schema, value[name], f"{at}.{name}")

    def check_required(self, _schema, argument, value, at):
        missing = [name for name in argument if isinstance(value, dict) and name not in value]
        if missing:
            raise Invalid(f"{at}: {missing} missing")

    def check_additionalProperties(self, schema, argument, value, at):
        more = set(value) - set(schema.get("properties", ())) if isinstance(value, dict) else set()
        if more and argument is False:
            raise Invalid(f"{at}: {sorted(more)} not in the schema")

    def check_items(self, _schema, argument, value, at):
        for number, item in enumerate(value if isinstance(value, list) else ()):
            self.check_one(argument, item, f"{at}[{number}]")

    def check_enum(self, _schema, argument, value, at):
        if not any(value == one and type(value) is type(one) for one in argument):
            raise Invalid(f"{at}: {value!r} is none of {argument}")

    def check_const(self, schema, argument, value, at):
        self.check_enum(schema, [argument], value, at)

    def check_pattern(self, _schema, argument, value, at):
        if isinstance(value, str) and not re.search(argument, value):
            raise Invalid(f"{at}: {value!r} does not match {argument}")

    def check_minimum(self, _schema, argument, value, at):
        if has_type(value, "integer") and value < argument:
            raise Invalid(f"{at}: {value} is less than {argument}")

    def check_ref(self, _schema, argument, value, at):
        target = self.root
        for step in argument.removeprefix("#/").split("/"):
            target = target[step]
        self.check_one(target, value, at)

    def matching(self, schemas, value, at):
        """How many match, and why the others don't."""
        reasons = []
        for schema in schemas:
            try:
                self.check_one(schema, value, at)
            except Invalid as reason:
                reasons.append(str(reason))
        return len(schemas) - len(reasons), reasons

    def check_anyOf(self, _schema, argument, value, at):
        count, reasons = self.matching(argument, value, at)
        if not count:
            raise Invalid("; ".join(reasons))

    def check_oneOf(self, _schema, argument, value, at):
        count, reasons = self.matching(argument, value, at)
        if count != 1:
            raise Invalid(f"{at}: {count} of oneOf match; " + "; ".join(reasons))


def check(value, name=None):
    """Against the schema that the value names, "run/1", or `name`, "audit-entry-1"."""
    Schema(name or value["schema"].replace("/", "-")).check(value)
