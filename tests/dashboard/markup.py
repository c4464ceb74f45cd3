"""What a page is made of, read strictly: what browsers would guess at is an error."""

from html.parser import HTMLParser

from starlette.testclient import TestClient

_VOID = frozenset(("br", "hr", "img", "input", "link", "meta"))
_SCRIPTS_OF_SOME = {"/static/countdown.js", "/static/bar.js"}
_LABELLED = ("input", "select", "textarea")


class Page(HTMLParser):
    """A whole page: its elements in their order, its text, and its links."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.links: list[tuple[str, str]] = []
        """Addresses, each with the text that leads there."""
        self.titles = 0
        self._open: list[str] = []
        self._texts: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open, f"never closed: {self._open}"

    @property
    def text(self) -> str:
        """What it says, on one line."""
        return " ".join(" ".join(self._texts).split())

    def of(self, tag: str) -> list[dict[str, str]]:
        """The attributes of each element of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]

    def target(self, text: str) -> str:
        """Where the one link of this text leads."""
        (found,) = {address for address, of in self.links if of == text}
        return found

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names), f"<{tag}> has an attribute twice: {names}"
        attributes = {name: value or "" for name, value in attrs}
        assert "style" not in attributes and not any(name.startswith("on") for name in names), names
        self.elements.append((tag, attributes))
        self.titles += tag == "title" and "svg" not in self._open
        if tag == "a":
            self.links.append((attributes["href"], ""))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open and self._open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data: str) -> None:
        self._texts.append(data)
        if "a" in self._open:
            address, text = self.links[-1]
            self.links[-1] = address, " ".join((text + data).split())

    def handle_decl(self, decl: str) -> None:
        assert decl == "doctype html"


def read(text: str) -> Page:
    """The page, which is well-formed, and usable by people who hear it or have no mouse."""
    page = Page(text.replace("<wbr>", ""))  # where a word may be broken, nobody reads anything
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(set(ids)) == len(ids), "an id is there twice"
    assert len(page.of("h1")) == len(page.of("main")) == page.titles == 1
    assert {each["src"] for each in page.of("script")} - _SCRIPTS_OF_SOME == {"/static/live.js"}
    labels = {each["for"] for each in page.of("label") if "for" in each}
    fields = [each for tag in _LABELLED for each in page.of(tag) if each.get("type") != "hidden"]
    assert all(each.get("id") in labels or each.get("aria-label") for each in fields), "a field has no label"
    assert len(page.of("caption")) == len(page.of("table"))
    assert all("scope" in each for each in page.of("th"))
    named = {each[name] for _, each in page.elements for name in ("aria-labelledby", "data-copy") if name in each}
    assert named <= set(ids)
    assert all(address.startswith(("/", "#")) and not address.startswith("//") for address, _ in page.links)
    return page


def seen(client: TestClient, address: str) -> Page:
    """The page at an address, which is well-formed."""
    answer = client.get(address)
    assert answer.status_code == 200
    return read(answer.text)


def keys(page: Page) -> list[str]:
    """The ids of the rows that a page has."""
    return [each["data-key"] for each in page.of("tr") if "data-key" in each]
