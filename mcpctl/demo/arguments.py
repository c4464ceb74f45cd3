"""What a tool's arguments must look like: the few words of JSON Schema that the bundled servers use."""

from collections.abc import Mapping
from typing import Any

from mcpctl.demo.stdio_server import ToolFailed

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def checked(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with the schema's defaults filled in; ToolFailed names everything that is wrong with them."""
    properties: Mapping[str, Any] = schema["properties"]
    problems = [f"{name} is required" for name in schema.get("required", ()) if name not in arguments]
    for name, value in arguments.items():
        if name not in properties:
            problems.append(f"there is no argument {name!r}, only {', '.join(properties)}")
        else:
            problems += [f"{name} must be {wanted}" for wanted in _unmet(properties[name], value)]
    if problems:
        raise ToolFailed("; ".join(problems))
    return {name: rule["default"] for name, rule in properties.items() if "default" in rule} | dict(arguments)


def _unmet(rule: Mapping[str, Any], value: object) -> list[str]:
    kind = rule["type"]
    # To Python true is an integer; to JSON it is not.
    if not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != "boolean"):
        return [f"{'an' if kind[0] in 'aio' else 'a'} {kind}"]
    if "enum" in rule and value not in rule["enum"]:
        return [f"one of {', '.join(rule['enum'])}"]
    if isinstance(value, str):
        return ["not empty"] if len(value.strip()) < rule.get("minLength", 0) else []
    if isinstance(value, list):
        return [f"an array in which each item is {wanted}" for item in value for wanted in _unmet(rule["items"], item)][
            :1
        ]
    if isinstance(value, int | float):
        return _out_of_range(rule, value)
    return []


def _out_of_range(rule: Mapping[str, Any], value: float) -> list[str]:
    if "minimum" in rule and not value >= rule["minimum"]:
        return [f"at least {rule['minimum']}"]
    if "maximum" in rule and not value <= rule["maximum"]:
        return [f"at most {rule['maximum']}"]
    return []
