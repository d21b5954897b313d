# SPDX-License-Identifier: MIT
"""Reads the X-macro tables of the C sources, for the scripts that make documents from them."""

import re


def split_fields(text):
    """What stands between the commas of `text` that are outside of strings and parentheses."""
    fields, field, depth = [], "", 0
    for token in re.findall(r'"(?:\\.|[^"])*"|\'.\'|[(),]|[^"\'(),]+', text):
        if token == "," and depth == 0:
            fields.append(field.strip())
            field = ""
            continue
        depth += {"(": 1, ")": -1}.get(token, 0)
        field += token
    return [*fields, field.strip()]


def read_table(path, name):
    """The rows of `#define NAME(X)`, each a list of the texts of its fields."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
    body = re.search(rf"#define {name}\(X\)(.*?)(?:\n\n|\Z)", text, re.S).group(1).replace("\\\n", "\n")
    rows, row, depth = [], "", 0
    for token in re.findall(r'"(?:\\.|[^"])*"|\'.\'|[()]|[^"\'()]+', body):
        depth -= token == ")"
        if token == ")" and depth == 0:
            rows.append(split_fields(row))
            row = ""
        elif depth:
            row += token
        depth += token == "("
    assert depth == 0 and len(rows) == len(re.findall(r"^\s*X\(", body, re.M)), f"{name}: a row was not understood"
    return rows


def unquote(text):
    """What C literals say, those that stand side by side joined; '' for NULL and 0."""
    if text in ("NULL", "0"):
        return ""
    return "".join(a or b for a, b in re.findall(r'"((?:\\.|[^"])*)"|\'(.)\'', text))
