"use strict";
// Says beside each question how long it can still be answered; without it, the page says until when.

function countDown() {
  for (const each of document.querySelectorAll("[data-until]")) {
    const left = Math.ceil((Date.parse(each.dataset.until) - Date.now()) / 1000);
    each.textContent = left > 0 ? `(${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")} left)` : "(over)";
  }
}

countDown();
setInterval(countDown, 1000);
