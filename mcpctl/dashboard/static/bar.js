"use strict";
// Sends a bar of filters once one of them has changed; the two ends of a time are given together.

for (const form of document.querySelectorAll("form[data-submit]")) {
  form.elements[sessionStorage.getItem("filter")]?.focus({ preventScroll: true });
  sessionStorage.removeItem("filter");
  form.addEventListener("change", (event) => {
    if (event.target.type === "datetime-local") return;
    sessionStorage.setItem("filter", event.target.name); // where one goes on
    form.requestSubmit();
  });
}
