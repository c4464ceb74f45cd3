"""The shapes of tokens: one table, which the search is made from, and its tests too.

Lengths are those that vendors or lists such as gitleaks' have, with some room for tokens of a later kind.
"""

from typing import NamedTuple

_MIXED = b"0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2yZ3" * 8
_CAPITALS = b"A0B1C2D3E4F5G6H7J8K9L0M1N2P3Q4R5" * 4
_HEX = b"0f1e2d3c4b5a69788796a5b4c3d2e1f0" * 5
_END = rb"(?![A-Za-z0-9])"
# Data in base64 has every short head somewhere; no token ends where such data goes on.
_END_OF_MIXED = rb"(?![A-Za-z0-9_+=-])"


class Shape(NamedTuple):
    """One kind of token, with an example that no service has given out."""

    name: str
    heads: tuple[bytes, ...]
    rest: bytes  # an expression for what follows the head
    example: bytes
    is_alone: bool = False  # whether it is one only where a word begins: its head also ends other words


TOKENS = (  # where two begin at one place, the earlier one here wins
    # Code and packages
    Shape("GitHub", (b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_"), rb"[A-Za-z0-9]{20,255}", b"ghp_" + _MIXED[:36]),
    Shape("GitHub, fine-grained", (b"github_pat_",), rb"[A-Za-z0-9_]{20,255}", b"github_pat_" + _MIXED[:82]),
    Shape(
        "GitLab",
        (b"glpat-", b"glptt-", b"glcbt-", b"gloas-", b"glimt-", b"gldt-", b"glrt-", b"glft-", b"glagent-"),
        rb"[A-Za-z0-9_-]{16,255}", b"glpat-" + _MIXED[:20],
    ),
    Shape("npm", (b"npm_",), rb"[A-Za-z0-9]{30,60}", b"npm_" + _MIXED[:36]),
    Shape("PyPI", (b"pypi-",), rb"[A-Za-z0-9_-]{50,1000}", b"pypi-AgEIcHlwaS5vcmc" + _MIXED[:60]),
    Shape("RubyGems", (b"rubygems_",), rb"[a-f0-9]{40,64}", b"rubygems_" + _HEX[:48]),
    Shape("Docker", (b"dckr_pat_", b"dckr_oat_"), rb"[A-Za-z0-9_-]{20,64}", b"dckr_pat_" + _MIXED[:27]),
    Shape("Postman", (b"PMAK-",), rb"[a-f0-9]{24}-[a-f0-9]{34}", b"PMAK-" + _HEX[:24] + b"-" + _HEX[:34]),
    Shape("Pulumi", (b"pul-",), rb"[a-f0-9]{40}" + _END, b"pul-" + _HEX[:40], is_alone=True),
    Shape("Sentry", (b"sntrys_", b"sntryu_"), rb"[A-Za-z0-9+/=_-]{40,400}", b"sntryu_" + _HEX[:64]),
    # Clouds and what runs there
    Shape("AWS", (b"AKIA", b"ASIA", b"ABIA", b"ACCA"), rb"[A-Z0-9]{16}", b"AKIA" + _CAPITALS[:16]),
    Shape("Google API", (b"AIza",), rb"[A-Za-z0-9_-]{35}", b"AIza" + _MIXED[:35]),
    Shape("Google OAuth client", (b"GOCSPX-",), rb"[A-Za-z0-9_-]{20,64}", b"GOCSPX-" + _MIXED[:28]),
    Shape("Google OAuth access", (b"ya29.",), rb"[A-Za-z0-9_.-]{20,2048}", b"ya29.a0" + _MIXED[:60]),
    Shape(
        "Azure application", (b"Q~",),
        rb"(?<=[A-Za-z0-9_.~-]{3}[0-9]Q~)[A-Za-z0-9_.~-]{31,34}", b"aB38Q~" + _MIXED[:34],
    ),
    Shape("Alibaba", (b"LTAI",), rb"[A-Za-z0-9]{16,24}+" + _END_OF_MIXED, b"LTAI" + _MIXED[:20], is_alone=True),
    Shape("DigitalOcean", (b"doo_v1_", b"dop_v1_", b"dor_v1_"), rb"[a-f0-9]{40,64}", b"dop_v1_" + _HEX[:64]),
    Shape("Databricks", (b"dapi",), rb"[a-f0-9]{32}", b"dapi" + _HEX[:32], is_alone=True),
    Shape("Vault", (b"hvs.", b"hvb.", b"hvr."), rb"[A-Za-z0-9_-]{20,300}", b"hvs." + _MIXED[:90], is_alone=True),
    Shape("Doppler", (b"dp.pt.", b"dp.st.", b"dp.sa.", b"dp.ct."), rb"[A-Za-z0-9._-]{40,64}", b"dp.pt." + _MIXED[:43]),
    Shape(
        "Dynatrace", (b"dt0c01.", b"dt0s01."), rb"[A-Z0-9]{20,28}+\.[A-Z0-9]{40,80}",
        b"dt0c01." + _CAPITALS[:24] + b"." + _CAPITALS[:64],
    ),
    Shape("Grafana", (b"glsa_",), rb"[A-Za-z0-9]{32}_[a-f0-9]{8}", b"glsa_" + _MIXED[:32] + b"_" + _HEX[:8]),
    Shape("New Relic", (b"NRAK-",), rb"[A-Z0-9]{24,32}", b"NRAK-" + _CAPITALS[:27]),
    Shape("PlanetScale", (b"pscale_",), rb"(?:tkn|oauth|pw)_[A-Za-z0-9_=.-]{32,64}", b"pscale_tkn_" + _MIXED[:43]),
    Shape("Supabase", (b"sbp_",), rb"[a-f0-9]{40}", b"sbp_" + _HEX[:40]),
    Shape("OpenShift", (b"sha256~",), rb"[A-Za-z0-9_-]{43}", b"sha256~" + _MIXED[:43]),
    Shape("1Password", (b"ops_",), rb"eyJ[A-Za-z0-9+/=_-]{100,4096}", b"ops_eyJ" + _MIXED[:250], is_alone=True),
    Shape("age", (b"AGE-SECRET-KEY-",), rb"1[A-Z0-9]{40,64}", b"AGE-SECRET-KEY-1" + _CAPITALS[:58]),
    # Models
    Shape(
        "OpenAI, Anthropic and others", (b"sk-",),
        rb"(?:[a-z0-9]{2,8}-){0,3}+(?=[A-Za-z_-]{0,24}[0-9])[A-Za-z0-9_-]{20,255}",
        b"sk-proj-" + _MIXED[:48], is_alone=True,
    ),
    Shape("Hugging Face", (b"hf_",), rb"[A-Za-z0-9]{30,60}", b"hf_" + _MIXED[:34], is_alone=True),
    Shape("Groq", (b"gsk_",), rb"[A-Za-z0-9]{40,64}", b"gsk_" + _MIXED[:52], is_alone=True),
    Shape("Replicate", (b"r8_",), rb"[A-Za-z0-9]{30,48}", b"r8_" + _MIXED[:37], is_alone=True),
    Shape("Perplexity", (b"pplx-",), rb"[A-Za-z0-9]{30,64}", b"pplx-" + _MIXED[:48]),
    Shape("Tavily", (b"tvly-",), rb"[A-Za-z0-9_-]{24,64}", b"tvly-dev-" + _MIXED[:32]),
    Shape("xAI", (b"xai-",), rb"[A-Za-z0-9]{40,100}", b"xai-" + _MIXED[:80], is_alone=True),
    Shape("NVIDIA", (b"nvapi-",), rb"[A-Za-z0-9_-]{40,100}", b"nvapi-" + _MIXED[:64]),
    Shape("Brave", (b"BSA",), rb"[A-Za-z0-9_-]{27,28}+" + _END_OF_MIXED, b"BSA" + _MIXED[:28], is_alone=True),
    Shape(
        "LangSmith", (b"lsv2_pt_", b"lsv2_sk_"),
        rb"[a-f0-9]{32}_[a-f0-9]{10}", b"lsv2_pt_" + _HEX[:32] + b"_" + _HEX[:10],
    ),
    # Messages
    Shape(
        "Slack", (b"xoxa-", b"xoxb-", b"xoxc-", b"xoxe-", b"xoxo-", b"xoxp-", b"xoxr-", b"xoxs-"),
        rb"[A-Za-z0-9-]{10,255}", b"xoxb-123456789012-123456789012-" + _MIXED[:24],
    ),
    Shape("Slack app", (b"xapp-",), rb"[0-9]-[A-Za-z0-9-]{10,255}", b"xapp-1-A0123456789-1234567890123-" + _HEX[:64]),
    Shape(
        "Slack webhook", (b"hooks.slack.",), rb"com/(?:services|workflows|triggers)/[A-Za-z0-9+/_-]{20,128}",
        b"hooks.slack.com/services/T0123456789/B0123456789/" + _MIXED[:24],
    ),
    Shape(
        "Discord webhook", (b"discord.", b"discordapp."),
        rb"com/api/(?:v[0-9]{1,2}/)?webhooks/[0-9]{5,20}/[A-Za-z0-9_-]{20,100}",
        b"discord.com/api/webhooks/123456789012345678/" + _MIXED[:68],
    ),
    Shape(
        "Teams webhook", (b"webhook.office.",), rb"com/webhookb2/[A-Za-z0-9@/-]{40,255}",
        b"webhook.office.com/webhookb2/" + _HEX[:32] + b"/IncomingWebhook/" + _HEX[:32],
    ),
    Shape(
        "Telegram bot", (b":AA",),
        rb"(?<=[0-9]{6}:AA)[A-Za-z0-9_-]{32,34}(?![A-Za-z0-9_-])", b"123456:AA" + _MIXED[:33],
    ),
    Shape("Twilio", (b"SK",), rb"[a-f0-9]{32}" + _END, b"SK" + _HEX[:32], is_alone=True),
    Shape(
        "SendGrid", (b"SG.",), rb"[A-Za-z0-9_-]{16,64}+\.[A-Za-z0-9_-]{16,64}",
        b"SG." + _MIXED[:22] + b"." + _MIXED[:43],
    ),
    Shape("Mailgun", (b"key-",), rb"[a-f0-9]{32}" + _END, b"key-" + _HEX[:32], is_alone=True),
    Shape("Brevo", (b"xkeysib-",), rb"[a-f0-9]{64}+-[A-Za-z0-9]{16}", b"xkeysib-" + _HEX[:64] + b"-" + _MIXED[:16]),
    # Work and shops
    Shape("Atlassian", (b"ATATT3", b"ATCTT3"), rb"[A-Za-z0-9_=-]{20,255}", b"ATATT3" + _MIXED[:186]),
    Shape("Linear", (b"lin_api_",), rb"[A-Za-z0-9]{30,64}", b"lin_api_" + _MIXED[:40]),
    Shape("Notion", (b"ntn_",), rb"[A-Za-z0-9]{40,64}", b"ntn_" + _MIXED[:46], is_alone=True),
    Shape("Notion, older", (b"secret_",), rb"[A-Za-z0-9]{43}" + _END, b"secret_" + _MIXED[:43], is_alone=True),
    Shape(
        "Airtable", (b"pat",),
        rb"[A-Za-z0-9]{14}\.[a-f0-9]{64}", b"pat" + _MIXED[:14] + b"." + _HEX[:64], is_alone=True,
    ),
    Shape("Figma", (b"figd_",), rb"[A-Za-z0-9_-]{30,64}", b"figd_" + _MIXED[:40]),
    Shape(
        "HubSpot", (b"pat-na1-", b"pat-na2-", b"pat-eu1-", b"pat-ap1-"),
        rb"[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}",
        b"pat-na1-0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0",
    ),
    Shape(
        "Stripe", (b"sk_live_", b"sk_test_", b"sk_prod_", b"rk_live_", b"rk_test_", b"rk_prod_"),
        rb"[A-Za-z0-9]{10,255}", b"sk_live_" + _MIXED[:24],
    ),
    Shape("Stripe webhook", (b"whsec_",), rb"[A-Za-z0-9+/=]{20,128}", b"whsec_" + _MIXED[:32]),
    Shape("Shopify", (b"shpat_", b"shpca_", b"shppa_", b"shpss_"), rb"[a-fA-F0-9]{32}", b"shpat_" + _HEX[:32]),
    Shape("Square", (b"sq0atp-", b"sq0csp-"), rb"[A-Za-z0-9_-]{22,64}", b"sq0atp-" + _MIXED[:22]),
    Shape("Facebook", (b"EAA",), rb"[A-Za-z0-9]{80,400}+" + _END_OF_MIXED, b"EAA" + _MIXED[:120], is_alone=True),
    Shape(
        "Mapbox", (b"sk.",), rb"eyJ[A-Za-z0-9_-]{20,255}+\.[A-Za-z0-9_-]{16,64}",
        b"sk.eyJ" + _MIXED[:60] + b"." + _MIXED[:22], is_alone=True,
    ),
)  # fmt: skip
