"""`mcpctl policy pause`"""

from mcpctl.commands import options as opt


def pause(
    ends: str | None = opt.option("--for", "TIME", "Go on by itself after that: 30m, 2h, 1d."),
    *,
    place: opt.JsonLocation,
) -> None:
    """Refuse every call at once, until it is resumed.

    Nothing is called, searched or read through mcpctl any more: by no client, with no token, and by no command such as
    tools call, with or without a policy. It applies at once in every mcpctl serve of this data directory. Calls on
    their way come to their end, and lists stay as they are; mcpctl tools search still looks through these. Anybody may
    begin a pause, since it only refuses, but a shorter one does not end a longer one. Only a person ends it: mcpctl
    policy resume.

    Examples:
      mcpctl policy pause
      mcpctl policy pause --for 2h
    """
    import time

    from mcpctl import output
    from mcpctl.commands.confirmation import may_be_a_person
    from mcpctl.policy import pausing

    until = opt.moment(ends, time.time(), "--for")
    paused = pausing.pause(place.paths(), until, "terminal" if may_be_a_person() else "script")
    output.write_done(place.json, lambda: pausing.row(paused))
    output.say(f"nothing is called any more: {paused.told}; go on with: mcpctl policy resume", always=not place.json)
