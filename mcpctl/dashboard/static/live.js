"use strict";
// Keeps an open page up to date; everything works without it. Events only say that there is something new: what is
// shown is read from the page's own address, so that rows are made in one place. Nothing is replaced while somebody
// reads it: what is new then is counted, and comes when it is asked for, or when they are at the top again.

const THROTTLE_MS = 2000;
const POLL_MS = 30000;
const SAID_MS = 10000;
const TYPES = [
  "sessions.created", "sessions.updated", "sessions.closed", "calls.started", "calls.finished", "discoveries.finished",
  "reads.finished", "decisions.made", "approvals.requested", "approvals.decided", "tools.changed", "tools.held",
  "tools.approved", "servers.changed", "reset",
];

const main = document.getElementById("content");
const state = document.getElementById("live");
const news = document.getElementById("news");
const said = document.getElementById("said");
const newer = new Map(); // by id, the parts of the page that are newer than what is shown
const counts = new Map(); // by noun, how many have come since that was last said
let source = null;
let polling = 0;
let waiting = 0;
let refreshed = 0;
let reading = false;
let again = false;
let saying = 0;
let isPointing = true; // not between a click on the news and the next move of the pointer

function tell(text, isOn) {
  state.textContent = text;
  state.classList.toggle("on", isOn);
}

// ---- events, or a look every 30 seconds where there are none

function open() {
  if (source || document.hidden) return;
  poll();
  source = new EventSource(main.dataset.events);
  source.onopen = () => {
    clearTimeout(polling);
    polling = 0;
    tell("live", true);
    soon(); // what came before it was open
  };
  for (const type of TYPES) source.addEventListener(type, soon);
  source.onerror = () => {
    tell("updated every 30 s", false);
    if (source && source.readyState === EventSource.CLOSED) {
      close(); // there are too many, or nobody is logged in any more: the page itself says which
      soon();
    }
    poll();
  };
}

function close() {
  if (source) source.close();
  source = null;
}

function poll() {
  if (polling) return;
  polling = setTimeout(() => {
    polling = 0;
    if (document.hidden) title();
    else if (source) soon();
    open();
    poll();
  }, POLL_MS);
}

function rest() {
  close();
  clearTimeout(polling);
  clearTimeout(waiting);
  polling = waiting = 0;
}

function turn() {
  if (document.hidden) {
    rest(); // a browser has six connections for all tabs
    poll();
  } else {
    soon();
    open();
  }
}

// ---- the page again

function soon() {
  if (reading) again = true;
  if (reading || waiting || document.hidden) return;
  waiting = setTimeout(refresh, Math.max(0, refreshed + THROTTLE_MS - Date.now()));
}

async function refresh() {
  waiting = 0;
  reading = true;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" }, redirect: "error" });
    if (answer.status === 401) {
      rest();
      tell("you are logged out: open the dashboard again", false);
      return;
    }
    show(new DOMParser().parseFromString(await answer.text(), "text/html"), answer.ok);
  } catch {
    tell("the dashboard does not answer", false);
    poll();
  } finally {
    refreshed = Date.now();
    reading = false;
    if (again) {
      again = false;
      soon();
    }
  }
}

// A page that is hidden shows only its title: how many calls and tools wait for a person.
async function title() {
  try {
    const answer = await fetch("/api/v1/waiting", { redirect: "error" });
    const { total } = answer.ok ? await answer.json() : {};
    if (total !== undefined) document.title = (total ? `(${total}) ` : "") + document.title.replace(/^\(\d+\) /, "");
  } catch {
    // it is looked at again in 30 seconds
  }
}

function show(page, isWhole) {
  newer.clear();
  for (const old of document.querySelectorAll("[data-live]:not([data-live] *)")) {
    const found = page.getElementById(old.id);
    if (found && (isWhole || !main.contains(old)) && !old.isEqualNode(found)) newer.set(old.id, found);
  }
  if (page.title) document.title = page.title;
  settle();
}

// ---- what is new is shown where nobody is reading, and counted elsewhere

function isRead(part) {
  if (part.contains(document.activeElement)) return true;
  if (!main.contains(part)) return false;
  const selection = getSelection();
  return (scrollY > 0 && !("grows" in part.dataset)) // what grows at its end moves nothing above
    || (isPointing && part.matches(":hover")) || (!selection.isCollapsed && selection.containsNode(part, true));
}

function settle(isAsked) {
  let more = 0;
  let isHeld = false;
  for (const [id, found] of newer) {
    const old = document.getElementById(id);
    const number = Math.max(0, Number(found.dataset.count) - Number(old.dataset.count)) || 0;
    if (isAsked !== true && isRead(old)) {
      isHeld = isHeld || main.contains(old);
      more += number;
      continue;
    }
    newer.delete(id);
    say(found.dataset.live, number);
    replace(old, document.importNode(found, true));
  }
  news.hidden = !isHeld;
  const text = more ? `↑ ${more.toLocaleString("en")} new` : "↑ changed";
  if (isHeld && news.textContent !== text) news.textContent = text;
}

function replace(old, found) {
  const scrolled = [...old.querySelectorAll(".wide, pre")].map((each) => [each.scrollLeft, each.scrollTop]);
  const opened = [...old.querySelectorAll("details")].map((each) => each.open);
  const keys = new Set([...old.querySelectorAll("[data-key]")].map((each) => each.dataset.key));
  old.replaceWith(found);
  found.querySelectorAll(".wide, pre").forEach((each, number) => each.scrollTo(...(scrolled[number] || [0, 0])));
  found.querySelectorAll("details").forEach((each, number) => (each.open = opened[number] ?? each.open));
  if (!keys.size) return;
  for (const each of found.querySelectorAll("[data-key]")) each.classList.toggle("fresh", !keys.has(each.dataset.key));
}

// For those who do not see it; it goes again, so that nobody hears it twice.
function say(noun, number) {
  if (noun && number) counts.set(noun, (counts.get(noun) || 0) + number);
  if (saying || !counts.size) return;
  said.textContent = [...counts].map(([of, many]) => `${many} new ${of}${many === 1 ? "" : "s"}`).join(", ");
  counts.clear();
  saying = setTimeout(() => {
    saying = 0;
    said.textContent = "";
    say();
  }, SAID_MS);
}

news.addEventListener("click", () => {
  isPointing = false;
  settle(true);
  main.focus({ preventScroll: true });
  scrollTo({ top: 0, behavior: "instant" });
});
addEventListener("scroll", () => scrollY > 0 || settle(), { passive: true });
addEventListener("pointermove", (event) => {
  isPointing = isPointing || Boolean(event.movementX || event.movementY);
  if (newer.size) settle();
}, { passive: true });

// ---- keys: / to the field of this page, j and k to the next row and the one before

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
  const rows = [...main.querySelectorAll("tbody th a")];
  const here = rows.findIndex((link) => link.closest("tr").contains(document.activeElement));
  const fields = { "/": main.querySelector("input:not([type=hidden])"), j: rows[here + 1], k: rows[here - 1] };
  const next = Object.hasOwn(fields, event.key) && fields[event.key];
  if (!next) return;
  next.focus();
  event.preventDefault();
});

// ---- what is to be copied

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
  const before = [...button.childNodes];
  button.textContent = "Copied";
  setTimeout(() => button.replaceChildren(...before), 2000);
});

document.documentElement.classList.toggle("copies", Boolean(navigator.clipboard));
if (main.dataset.events) {
  document.addEventListener("visibilitychange", turn);
  addEventListener("pagehide", rest);
  addEventListener("pageshow", (event) => event.persisted && turn());
  open();
}
