"use strict";
// Keeps an open page up to date; everything works without it. Events only say that there is something new: what is
// shown is read from the page's own address, so that rows are made in one place.

const THROTTLE_MS = 2000;
const POLL_MS = 30000;
const NEWS_MS = 10000;
const TYPES = [
  "sessions.created", "sessions.updated", "sessions.closed", "calls.started", "calls.finished", "discoveries.finished",
  "approvals.requested", "approvals.decided", "tools.changed", "tools.held", "tools.approved", "servers.changed",
  "reset",
];

const main = document.getElementById("content");
const state = document.getElementById("live");
const news = document.getElementById("news");
const seen = new Map();
let source = null;
let polling = 0;
let waiting = 0;
let refreshed = 0;
let reading = false;
let again = false;
let told = 0;

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
  source.onmessage = soon;
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
    if (source) soon();
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

function wake() {
  if (document.hidden) return;
  soon();
  open();
}

// ---- the page again

function soon() {
  if (reading) again = true;
  if (reading || waiting) return;
  waiting = setTimeout(refresh, Math.max(0, refreshed + THROTTLE_MS - Date.now()));
}

async function refresh() {
  waiting = 0;
  if (document.hidden) return;
  reading = true;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" }, redirect: "error" });
    if (answer.status === 401 || answer.status === 403) {
      rest();
      tell("you are logged out: open the dashboard again", false);
      return;
    }
    if (answer.ok) show(new DOMParser().parseFromString(await answer.text(), "text/html"));
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

function show(page) {
  for (const old of document.querySelectorAll("[data-live]")) {
    const found = page.getElementById(old.id);
    if (!found || old.isEqualNode(found)) continue;
    if (isSelectedFrom(old)) {
      again = true; // nobody's selection is taken away
      continue;
    }
    count(old, found);
    replace(old, document.importNode(found, true));
  }
  if (page.title) document.title = page.title;
}

function isSelectedFrom(element) {
  const selection = getSelection();
  return !selection.isCollapsed && selection.containsNode(element, true);
}

// Focus, and what is in sight, stay where they are.
function replace(old, found) {
  const focused = old.contains(document.activeElement) ? path(old, document.activeElement) : null;
  const scrolled = [...old.querySelectorAll(".wide, pre")].map((each) => [each.scrollLeft, each.scrollTop]);
  const opened = [...old.querySelectorAll("details")].map((each) => each.open);
  const top = [...old.querySelectorAll("[data-key]")].find((row) => row.getBoundingClientRect().bottom > 0);
  const before = top && top.getBoundingClientRect().top;
  old.replaceWith(found);
  found.querySelectorAll(".wide, pre").forEach((each, number) => each.scrollTo(...(scrolled[number] || [0, 0])));
  found.querySelectorAll("details").forEach((each, number) => (each.open = opened[number] || false));
  const same = top && row(found, top.dataset.key);
  if (same && scrollY > 0) scrollBy({ top: same.getBoundingClientRect().top - before, behavior: "instant" });
  const next = focused && focused(found);
  if (next) next.focus({ preventScroll: true });
}

function row(within, key) {
  return [...within.querySelectorAll("[data-key]")].find((each) => each.dataset.key === key);
}

// How to find again what has the focus: its place in its row, or in the whole.
function path(within, element) {
  const of = element.closest("[data-key]");
  const place = [...(of || within).querySelectorAll("*")].indexOf(element);
  return (found) => {
    const inside = of ? row(found, of.dataset.key) : found;
    return inside && inside.querySelectorAll("*")[place];
  };
}

function count(old, found) {
  const more = Number(found.dataset.count) - Number(old.dataset.count);
  const noun = found.dataset.live;
  if (!noun || !(more > 0)) return;
  seen.set(noun, (seen.get(noun) || 0) + more);
  if (told) return;
  told = setTimeout(() => {
    told = 0;
    news.textContent = [...seen].map(([of, number]) => `${number} new ${of}${number === 1 ? "" : "s"}`).join(", ");
  }, news.textContent ? NEWS_MS : 0);
}

// ---- what is to be copied

for (const button of document.querySelectorAll("button[data-copy]")) {
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
}

if (main.dataset.events && document.querySelector("[data-live]")) {
  document.addEventListener("visibilitychange", () => (document.hidden ? rest() : wake()));
  addEventListener("pagehide", rest);
  addEventListener("pageshow", (event) => event.persisted && wake());
  open();
}
