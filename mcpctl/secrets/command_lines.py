"""Secrets that a blank stands before: options of commands, `curl -u`, and netrc."""

import re
from collections.abc import Iterator

from mcpctl.secrets.secret_names import Kind, kind_of
from mcpctl.secrets.secret_values import Form, is_secret
from mcpctl.secrets.shapes import Span, has

# An option of a shell, or two members of a list. A quotation mark that ends a string of JSON opens no value.
_OPTION = re.compile(
    rb"--([A-Za-z][A-Za-z0-9-]{1,30}+)(?:[ \t]{1,4}+|\\*+\"[ \t\n]{0,8}+,[ \t\n]{0,8}+(?=\\*+\"))"
    rb"(?:\\*+[\"'](?![\s,}\]:]))?([^\s\"'`\\;&|<>-][^\s\"'`\\;&|<>]{0,4096}+)(?!\\*+\"\s*+:)"
)
_LOGIN = re.compile(rb"-u(?:ser)?[ \t=]{0,4}+(?:\\*+[\"'])?([A-Za-z0-9_.@+-]{1,32}+:[^\s\"'`\\;&|<>/]{1,256}+)")
_NETRC = re.compile(
    rb"login(?:\s|\\++[nrt])++[^\s\"\\]{1,128}+(?:\s|\\++[nrt])++password(?:\s|\\++[nrt])++([^\s\"\\]{1,256}+)"
)
SIGNS = _OPTION, _LOGIN, _NETRC
_BEFORE_LOGIN = 1024


def in_commands(text: bytes) -> Iterator[Span]:
    for option in _OPTION.finditer(text) if has(text, b"--") else ():
        kind = kind_of(option[1].decode())
        if kind is not Kind.NOTHING and is_secret(option[2], kind, Form.BARE):
            yield option.span(2)
    if has(text, b"curl"):
        for login in _LOGIN.finditer(text):
            if text.rfind(b"curl", max(login.start() - _BEFORE_LOGIN, 0), login.start()) >= 0:
                yield login.span(1)
    if has(text, b"login"):
        for entry in _NETRC.finditer(text):
            if is_secret(entry[1], Kind.PASSWORD, Form.BARE):
                yield entry.span(1)
