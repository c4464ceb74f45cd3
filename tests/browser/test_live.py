"""Somebody watches while 50 calls come in a second: nothing moves under their eyes, and every page says what waits."""

import threading
import uuid
from collections.abc import Callable, Iterator

import pytest

from mcpctl.base.paths import Paths
from mcpctl.policy import approvals, pausing
from mcpctl.policy.policy_file import PolicyFile
from mcpctl.store import journal_lines
from tests import configured, recorded
from tests.browser.chromium import Tab
from tests.browser.conftest import Dashboard
from tests.commands.approvals import waiting

pytestmark = [pytest.mark.process, pytest.mark.slow]
Started = Callable[..., Dashboard]
LIVE = "document.getElementById('live').innerText === 'live'"
COUNTED = "document.querySelector('#calls').dataset.count"
NEWS = "document.getElementById('news')"
A_SECOND = 50


@pytest.fixture
def busy(paths: Paths) -> Iterator[None]:
    """A session that makes 50 calls a second, for as long as the test lasts."""
    configured.demo_tools(paths)
    journal, ends = recorded.opened(paths, recorded.created()), threading.Event()

    def written(number: int) -> bytes:
        lines = recorded.call(str(uuid.uuid4()), number / 100)
        return b"".join(map(journal_lines.encode, lines))

    def call() -> None:
        number = 60
        while not ends.wait(1 / A_SECOND):
            journal.append(written(number))
            number += 1

    journal.append(b"".join(map(written, range(60))))
    calling = threading.Thread(target=call)
    calling.start()
    yield
    ends.set()
    calling.join()
    journal.close()


def watched(dashboard: Started, path: str = "/tool-calls") -> Tab:
    tab = dashboard().person().tab(path)
    tab.until(LIVE)
    return tab


def test_rows_that_are_read_move_by_no_pixel_and_the_counter_goes_when_seen(busy: None, dashboard: Started) -> None:
    tab = watched(dashboard)
    before = tab.see(COUNTED)
    tab.until(f"{COUNTED} !== '{before}'")
    assert tab.see(f"{NEWS}.hidden"), "at the top they come by themselves"
    tab.see("scrollTo(0, 300)")
    tab.see(
        "window.read = [...document.querySelectorAll('tbody tr')].find(r => r.getBoundingClientRect().top > 100);"
        "window.tops = new Set(); (function look() { tops.add(read.isConnected && read.getBoundingClientRect().top);"
        " requestAnimationFrame(look); })()"
    )
    number = "Number(/^↑ ([\\d,]+) new$/.exec(document.getElementById('news').innerText)?.[1].replace(',', ''))"
    tab.until(f"{number} > 200")
    assert tab.see("[tops.size, [...tops][0] > 0, document.title]") == [1, True, "Calls · mcpctl"]
    tab.click("#news")
    assert tab.see(f"[{NEWS}.hidden, scrollY, read.isConnected]") == [True, 0, False]
    seen = tab.see(COUNTED)
    tab.until(f"{COUNTED} !== '{seen}'")  # though the pointer lies on a list that has moved beneath it
    assert tab.faults == []


def test_a_list_under_the_pointer_stays_until_it_leaves(busy: None, dashboard: Started) -> None:
    tab = watched(dashboard)
    tab.point(600, 700)
    before = tab.see(COUNTED)
    tab.until(f"!{NEWS}.hidden")
    assert tab.see(COUNTED) == before
    tab.point(600, 10)
    assert (tab.see(COUNTED) != before, tab.see(f"{NEWS}.hidden")) == (True, True)


def test_every_page_says_at_once_what_waits(paths: Paths, dashboard: Started) -> None:
    configured.configure(paths, {"files": configured.stub()}, policy={"confirm_destructive": True})
    configured.listed(paths, "files", [configured.READ])
    configured.pinned(paths, "files")
    visitor = dashboard().person()
    tabs = [visitor.tab(path) for path in ("/stats", "/sessions?client=nobody", "/sessions/nobody")]
    for tab in tabs:
        tab.until(LIVE)
        tab.see("scrollTo(0, 1)")
    waiting.opened(paths)
    for tab in tabs:
        tab.until("document.title.startsWith('(1) ')")
        assert tab.text("nav a[href='/approvals'] .waits").startswith("1")
    configured.listed(paths, "files", [{**configured.READ, "description": "Reads a file, and mails it."}])
    for tab in tabs:
        tab.until("document.title.startsWith('(2) ')")
        assert tab.text("nav a[href='/review'] .waits").startswith("1")


def test_listeners_of_a_type_get_its_events_with_their_place(busy: None, dashboard: Started) -> None:
    tab = watched(dashboard, "/stats")
    heard = tab.see(
        "new Promise(done => { const events = new EventSource('/api/v1/events'), others = [];"
        "events.onmessage = event => others.push(event.data);"
        "events.addEventListener('calls.finished', event => done("
        "[event.type, JSON.parse(event.data).type, event.lastEventId !== '', others])) })"
    )
    assert heard == ["calls.finished", "calls.finished", True, []]


def test_keys_lead_to_the_field_and_along_the_rows(paths: Paths, dashboard: Started) -> None:
    configured.demo_tools(paths)
    tab = dashboard().person().tab("/tools")
    focused = "document.activeElement.innerText"
    first, second = tab.see("[...document.querySelectorAll('tbody th a')].slice(0, 2).map(a => a.innerText)")
    for key, text in (("j", first), ("j", second), ("k", first)):
        tab.key(key)
        assert tab.see(focused) == text
    tab.key("/")
    assert tab.see("document.activeElement.id") == "q"
    tab.key("j")
    assert tab.see("document.activeElement.value") == "j"


def test_the_first_steps_tick_themselves_off_while_one_looks(paths: Paths, dashboard: Started) -> None:
    tab = watched(dashboard, "/")
    done = "document.querySelectorAll('.steps .done').length"
    assert tab.see(done) == 0
    configured.demo_tools(paths)
    tab.until(f"{done} === 1")
    journal = recorded.opened(paths, recorded.created())
    tab.until(f"{done} === 2")
    journal.append(b"".join(map(journal_lines.encode, recorded.call(1, 1))))
    tab.until("!document.querySelector('.steps') && document.querySelector('#sessions tbody tr')")
    journal.close()
    assert tab.faults == []


def test_a_hidden_tab_keeps_no_stream_and_says_in_its_title_what_waits(paths: Paths, dashboard: Started) -> None:
    tab = watched(dashboard, "/stats")
    tab.see(
        "{ const later = setTimeout; window.setTimeout = (work, ms) => later(work, Math.min(ms, 100)); }"
        "const ended = EventSource.prototype.close; EventSource.prototype.close = function () {"
        " document.body.dataset.ended = 'yes'; ended.call(this) };"
        "Object.defineProperty(document, 'hidden', {get: () => true});"
        "document.dispatchEvent(new Event('visibilitychange'))"
    )
    assert tab.see("document.body.dataset.ended") == "yes"
    waiting.opened(paths)
    tab.until("document.title === '(1) Statistics · mcpctl'")
    with PolicyFile.connect(paths) as file:
        approvals.answer(file, approvals.listed(file)[0].id, scope=None, channel="terminal")
    tab.until("document.title === 'Statistics · mcpctl'")
    assert tab.faults == []


def test_an_open_page_says_that_everything_is_paused_and_that_it_goes_on(
    busy: None, dashboard: Started, paths: Paths, pictures: Callable[[Tab, str], None]
) -> None:
    tab = watched(dashboard, "/stats")
    banner = "document.getElementById('paused').innerText"
    assert tab.see(banner) == ""
    pausing.pause(paths, None, "script")
    tab.until(f"{banner}.includes('Nothing is called: paused since')")
    for width in (1200, 390):
        tab.size(width)
        pictures(tab, str(width))
        assert tab.see("document.documentElement.scrollWidth <= innerWidth")
    pausing.resume(paths, "terminal")
    tab.until(f"{banner} === ''")
