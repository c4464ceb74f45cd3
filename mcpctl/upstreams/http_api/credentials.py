"""The credentials of a request: of the document's alternatives the first that is complete, and which are missing.
https://spec.openapis.org/oas/v3.1.1#security-requirement-object"""

from msgspec import Struct

from mcpctl.config.api_environment import Api
from mcpctl.config.entry_secrets import pair_of
from mcpctl.config.server_settings import ClientCredentials
from mcpctl.openapi.snapshot import BEARER, CompiledDocument, HttpOperation, Scheme
from mcpctl.secrets.redact import MASK

_OF_NONE = Scheme("bearer")


class SchemesInUse(Struct, frozen=True):
    """The schemes that a request has, each with its value, and those that it could have had instead."""

    schemes: dict[str, Scheme] = {}
    values: dict[str, str | ClientCredentials] = {}
    scopes: dict[str, list[str]] = {}
    needs: tuple[tuple[str, ...], ...] = ()  # the alternatives, where none is complete

    @property
    def client(self) -> str:
        """The scheme for which a token is to be got as a client; empty where there is none."""
        return next((name for name, value in self.values.items() if not isinstance(value, str)), "")


def chosen(document: CompiledDocument, operation: HttpOperation, api: Api) -> SchemesInUse:
    if not document.schemes:
        value = api.auth.get(BEARER)
        if value and isinstance(value, str):
            return SchemesInUse({BEARER: _OF_NONE}, {BEARER: value})
        return SchemesInUse(needs=((BEARER,),) if BEARER in api.auth else ())
    for each in operation.security:
        if all(_has_value(document.schemes.get(name), api.auth.get(name)) for name in each):
            schemes = {name: document.schemes[name] for name in each}
            return SchemesInUse(schemes, {name: api.auth[name] for name in each}, each)
    return SchemesInUse(needs=tuple(tuple(each) for each in operation.security))


def _has_value(scheme: Scheme | None, value: str | ClientCredentials | None) -> bool:
    if isinstance(value, ClientCredentials):
        return bool(scheme and scheme.token_url and value.client_id and value.client_secret)
    return bool(scheme and value)


def placed(of: SchemesInUse, token: str) -> list[tuple[str, str, str]]:
    """The place, name and value of each; `token` is the one that was got as a client."""
    return [_placed(scheme, of.values[name], token) for name, scheme in of.schemes.items()]


def _placed(scheme: Scheme, value: str | ClientCredentials, token: str) -> tuple[str, str, str]:
    text = value if isinstance(value, str) else token
    if scheme.kind == "apiKey":
        return scheme.place, scheme.name, text
    if scheme.kind == "basic":
        return "header", "Authorization", f"Basic {text if text == MASK else pair_of(text)}"
    return "header", "Authorization", f"Bearer {text}"


def lacking(tool: str, needs: tuple[tuple[str, ...], ...], api: Api) -> str:
    """The sentences beside a 401 or 403 of a request that was sent without credentials."""
    sentence = f"{tool} needs one of: {'; '.join(' with '.join(each) for each in needs if each)}"
    return "\n".join([sentence, *without_variable(needs, api)])


def without_variable(needs: tuple[tuple[str, ...], ...], api: Api) -> list[str]:
    """Which of these schemes have no value for want of a variable, in words."""
    names = dict.fromkeys(name for each in needs for name in each)
    return [f"{name}: {api.unset[name]}" for name in names if name in api.unset]
