"""`mcpctl prompts get`"""

from mcpctl.commands import complete
from mcpctl.commands import options as opt


def get(
    name: str = opt.argument("NAME", "The prompt: SERVER_PROMPT.", complete.prompts),
    arguments: list[str] | None = opt.argument(
        "[JSON|-|@FILE|KEY=VALUE...]",
        "The arguments: JSON, also on stdin (-) or in FILE, or pairs.",
        complete.prompt_arguments,
        default=None,
    ),
    timeout: float | None = opt.TIMEOUT,
    json: bool = opt.JSON,
    *,
    place: opt.ProjectLocation,
) -> None:
    """Get a prompt, and print the texts of its messages.

    Several messages have the role of each on a line before it. The values of KEY=VALUE pairs are texts, as prompts take
    no others. KEY=@FILE has the content of FILE, KEY=@- that of stdin, and KEY=@@name is the text @name. --json prints
    the result exactly as the server sent it. The record says that the prompt was got, without its text.

    Examples:
      mcpctl prompts get github_review_pr number=12
      mcpctl prompts get github_review_text text=@review.md
      mcpctl prompts get github_review_pr '{"number": "12"}' --json
    """
    from mcpctl import output
    from mcpctl.calling import one_shot
    from mcpctl.commands.call_arguments import texts
    from mcpctl.output import contents

    result = one_shot.prompt(place.paths(), name, texts(arguments or []), timeout, place.project)
    output.write_row(result, json, lambda: contents.prompt(result))
