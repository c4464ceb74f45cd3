"""`mcpctl policy resume`"""

from mcpctl.commands import options as opt


def resume(place: opt.JsonLocation) -> None:
    """End a pause: calls are decided on by the policy again.

    It is for people: it needs a terminal, and refuses where an agent may run it.

    Examples:
      mcpctl policy resume
    """
    from mcpctl import output
    from mcpctl.commands.confirmation import only_for_people
    from mcpctl.policy import pausing

    only_for_people("end a pause")
    ended = pausing.resume(place.paths(), "terminal")
    output.write_done(place.json, lambda: pausing.row(ended))
    output.say(f"resumed: it was {ended.told}" if ended else "nothing was paused", always=not place.json)
