"""Secrets are found in every kind of text that they stand in, and under every name that tells of one."""

import json
import re

from mcpctl.secrets.redact import MARK, is_secret_name, mask
from mcpctl.secrets.redactor import Redactor
from tests.secrets.channels import CHANNELS, decoded
from tests.table import for_each

REDACTOR = Redactor(b"k" * 32)
ANY_MARK = re.compile(MARK.pattern.encode())
VALUE = "hunter2-Zz9hunter"
LONG = "Zz9" * 12
HEX = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
TEXTS = {
    "password: x": (f"password: {VALUE}", VALUE),
    "yaml api_key": (f"host: h\napi_key: {VALUE}\nport: 3", VALUE),
    "password = x": (f"password = {VALUE}", VALUE),
    'password="x"': (f'password="{VALUE}"', VALUE),
    "password='x'": (f"password='{VALUE}'", VALUE),
    "X-Api-Key": (f"X-Api-Key: {VALUE}", VALUE),
    "Cookie": (f"Cookie: sid={LONG}; theme=dark", LONG),
    "Set-Cookie": (f"Set-Cookie: session={LONG}; Path=/; HttpOnly", LONG),
    "Auth token": (f"Authorization: token {LONG}", LONG),
    "Auth bearer": (f"Authorization: Bearer {LONG}", LONG),
    "Auth apikey": (f"authorization: ApiKey {LONG}", LONG),
    "Auth letters": ("Authorization: Bearer abcdefghijklmnop", "abcdefghijklmnop"),
    "Auth letters in JSON": ('{"Authorization": "Bearer abcdefghijklmnop"}', "abcdefghijklmnop"),
    "auth raw": (f"Authorization: {LONG}", LONG),
    "netrc": (f"machine api.x.com login me password {VALUE}", VALUE),
    "netrc lines": (f"machine api.x.com\n  login me\n  password {VALUE}\n", VALUE),
    "curl -u": (f"curl -u admin:{VALUE} https://h/x", VALUE),
    "curl --user": (f"curl -s --user 'admin:{VALUE}' https://h/x", VALUE),
    "--token x": (f"gh auth --token {VALUE} login", VALUE),
    "--password x": (f"x --password {VALUE}", VALUE),
    "--api-key=x": (f"x --api-key={VALUE}", VALUE),
    "--token=word": ("x --token=swordfish", "swordfish"),
    "word in the environment": ("GITHUB_TOKEN=swordfish x", "swordfish"),
    "list of arguments": (f'{{"command": "x", "args": ["-v", "--token", "{VALUE}", "y"]}}', VALUE),
    "?key=": (f"https://maps.x.com/api?key={VALUE}&b=1", VALUE),
    "?sig=": ("https://a.blob.core.windows.net/c?sv=2020&sig=Ab%2Fc3D4e5F6g7H8i9J%3D&se=1", "Ab%2Fc3D4e5F6g7H8i9J"),
    "?key hex": (f"https://x/api?key={HEX}", HEX),
    "?token": (f"https://x/api?a=1&token={VALUE}", VALUE),
    "slack hook": (f"https://hooks.slack.com/services/T0AAAAAAA/B0AAAAAAA/{LONG[:24]}", LONG[:24]),
    "AccountKey": (
        f"DefaultEndpointsProtocol=https;AccountName=a;AccountKey={LONG}ab+/==;EndpointSuffix=core",
        "ab+/==",
    ),
    "docker auth": ('{"auths":{"https://index.docker.io/v1/":{"auth":"dXNlcjpwYXNz"}}}', "dXNlcjpwYXNz"),
    "url pw :": ("postgres://u:p:a:ss@h/db", "p:a:ss"),
    "url pw /": ("postgres://u:pa/ss@h:5432/db", "pa/ss"),
    "url pw @": ("https://u:p@ss@host/x", "ss@host"),
    "url": ("https://u:pw@h/x", "u:pw"),
    "pgp": (f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQ{LONG}\n=ab\n-----END PGP PRIVATE KEY BLOCK-----", LONG),
    "ppk": (
        f"PuTTY-User-Key-File-3: ssh-rsa\nEncryption: none\nPublic-Lines: 1\nAAAA\n"
        f"Private-Lines: 2\n{LONG}\n{LONG}\nPrivate-MAC: {HEX}",
        LONG,
    ),
    "env export": (f"export DB_PASSWORD={VALUE}", VALUE),
    "npmrc": (f"//registry.npmjs.org/:_authToken={HEX[:8]}-aaaa-bbbb-cccc-{HEX[:12]}", HEX[:12]),
    "py dict": (f"{{'password': '{VALUE}'}}", VALUE),
    "py assign": (f"api_key = '{VALUE}'", VALUE),
    "ts": (f'const token: string = "{VALUE}";', VALUE),
    "php": (f"'password' => '{VALUE}',", VALUE),
    "markdown": (f"**Password:** {VALUE}", VALUE),
    "aws secret": (f"aws_secret_access_key = {LONG}", LONG),
    "client_secret=": (f"client_secret={VALUE}", VALUE),
    "DSN text": (f"host=h user=u password={VALUE} dbname=d", VALUE),
    "odbc": (f"Server=h;Uid=u;Pwd={VALUE};", VALUE),
    "pct": (f"password%3D{VALUE}%26x%3D1", VALUE),
    "json pct": (f"https://x/?next=%2Fa%3Ftoken%3D{LONG}", LONG),
}
"""The text, and what of it must not be recorded."""
NAMES = (
    "auth", "key", "pat", "pass", "pin", "otp", "mfaCode", "bearer", "connectionString", "dsn", "DATABASE_URL",
    "session_id", "ssh_key", "encryption_key", "signing_key", "master_key", "token_value", "tokenValue",
    "password1", "passwordHash", "kubeconfig", "webhook_url", "password", "passwd", "passphrase", "pwd", "secret",
    "token", "apiKey", "access_key", "privateKey", "clientSecret", "Authorization", "credentials", "cookie",
    "db_pass", "smtp_pw", "jwt", "refresh_token", "id_token", "x-api-key", "client-secret", "OPENAI_API_KEY",
    "SLACK_BOT_TOKEN", "secretAccessKey", "sessionToken", "security_code", "SecretString",
)  # fmt: skip
ESCAPED = {
    "php slash": (b'{"u":"https:\\/\\/user:hunter2@h\\/x"}', b"hunter2"),
    "gh u0070": (b'{"u":"gh\\u0070_' + LONG.encode() + b'"}', LONG.encode()),
    "u006frd": (b'{"passw\\u006frd":"' + VALUE.encode() + b'"}', VALUE.encode()),
    "fake mark": (b'{"password":"[redacted: x] real"}', b"real"),
    "pair": (b'{"name":"Authorization","value":"' + VALUE.encode() + b'"}', VALUE.encode()),
    "pair2": (b'{"key":"API_TOKEN","type":"text","value":"' + VALUE.encode() + b'"}', VALUE.encode()),
    "fake mark 2": (b'{"password":"[redacted:00000000] real"}', b"real"),
    "go amp": (b'{"u":"https://x/?a=1\\u0026token=' + LONG.encode() + b'"}', LONG.encode()),
}


@for_each("channel", CHANNELS)
@for_each("kind", TEXTS)
def test_a_secret_in_text_is_hidden(kind: str, channel: str) -> None:
    text, secret = TEXTS[kind]
    written = CHANNELS[channel](text)
    recorded = REDACTOR.json(written)
    decoded(channel, recorded)
    assert secret.encode() not in recorded
    assert ANY_MARK.search(recorded)
    assert REDACTOR.json(recorded) == recorded


@for_each("kind", TEXTS)
def test_people_do_not_see_it_either(kind: str) -> None:
    text, secret = TEXTS[kind]
    assert secret not in mask(text)
    assert "***" in mask(text)


@for_each("kind", ESCAPED)
def test_an_escape_or_a_mark_of_anothers_hides_no_secret(kind: str) -> None:
    written, secret = ESCAPED[kind]
    recorded = REDACTOR.json(written)
    json.loads(recorded)
    assert secret not in recorded
    assert ANY_MARK.search(recorded)


@for_each("name", NAMES)
@for_each("depth", [0, 1, 2])
def test_a_secret_under_a_telling_name_is_hidden(name: str, depth: int) -> None:
    value: object = {"before": 1, name: VALUE, "after": [True]}
    for _ in range(depth):
        value = json.dumps({"text": value})
    recorded = REDACTOR.json(json.dumps(value).encode())
    assert VALUE.encode() not in recorded
    found = json.loads(recorded)
    for _ in range(depth):
        found = json.loads(found)["text"]
    assert MARK.fullmatch(found[name])
    assert (found["before"], found["after"]) == (1, [True])


@for_each("name", NAMES)
def test_settings_take_the_same_names_for_secret(name: str) -> None:
    assert is_secret_name(name)
    assert VALUE not in mask(f"{name}: {VALUE}")


@for_each("name", ["pin", "otp", "mfaCode", "security_code", "backupCode"])
@for_each("value", ["483920", 483920])
def test_a_code_of_several_digits_is_hidden(name: str, value: object) -> None:
    assert b"483920" not in REDACTOR.json(json.dumps({name: value}).encode())


def test_a_name_of_ones_own_may_have_blanks_and_be_short() -> None:
    own = Redactor(b"k" * 32, ["plan b", "x", "größe"])
    out = json.loads(own.json('{"Plan B": "go", "b": "go", "X": 5, "größe": "7"}'.encode()))
    assert out["b"] == "go"
    assert all(MARK.fullmatch(out[name]) for name in ("Plan B", "X", "größe"))
    assert "go" not in own.json(b'{"name":"plan b","value":"go"}').decode()


def test_a_result_for_a_model_keeps_all_but_its_secrets() -> None:
    uuid, sha = "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "da39a3ee5e6b4b0d3255bfef95601890afd80709"
    text = f"commit {sha} by {uuid}\npassword: {VALUE}\n"
    result = {
        "content": [
            {"type": "text", "text": text},
            {"type": "image", "data": "iVBORw0KGgo" + "aB3+/" * 400, "mimeType": "a/b"},
        ],
        "structuredContent": {"id": uuid, "sha": sha, "api_key": VALUE, "nextPageToken": "CAUQAA1b2c3d4e5f"},
        "isError": False,
    }
    written = json.dumps(result).encode()
    masked = REDACTOR.json(written)
    assert masked.count(ANY_MARK.search(masked)[0]) == 2  # type: ignore[index]  # equal secrets have equal marks
    assert ANY_MARK.sub(VALUE.encode(), masked) == written
