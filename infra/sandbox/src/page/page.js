// Asks for the page again every second while somebody can see it, and changes only what is different: what stays keeps
// its place in the document, and with it the reader's scroll position, selection and focus.
"use strict";

const EVERY_MS = 1000;
const ANSWER_MAX_MS = 5000;
let asking = false;

// Whatever leaves or changes is taken out first. The rest keeps its order, as it is ordered by arrival; so new nodes
// only have to be put between.
function merge(old, fresh) {
  const wanted = new Set(Array.from(fresh.children, (child) => child.outerHTML));
  for (const child of [...old.children]) if (!wanted.has(child.outerHTML)) child.remove();
  let at = old.firstElementChild;
  for (const child of [...fresh.children]) {
    if (at && at.isEqualNode(child)) at = at.nextElementSibling;
    else old.insertBefore(child, at);
  }
  while (at) {
    const next = at.nextElementSibling;
    at.remove();
    at = next;
  }
}

async function look() {
  const seen = encodeURIComponent(document.body.dataset.version);
  const answer = await fetch("/?seen=" + seen, { cache: "no-store", signal: AbortSignal.timeout(ANSWER_MAX_MS) });
  if (answer.status === 204) return;
  if (!answer.ok) throw new Error("answered " + answer.status);
  // A document made this way runs no scripts and loads nothing.
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const id of ["phones", "requests"]) merge(document.getElementById(id), fresh.getElementById(id));
  const status = document.getElementById("status");
  const news = fresh.getElementById("status");
  if (!status.isEqualNode(news)) status.replaceChildren(...news.childNodes);
  document.body.dataset.version = fresh.body.dataset.version;
}

async function update() {
  if (document.hidden || asking) return;
  asking = true;
  const lost = document.getElementById("lost");
  try {
    await look();
    lost.hidden = true;
  } catch {
    lost.hidden = false;
  }
  asking = false;
}

document.addEventListener("visibilitychange", update);
setInterval(update, EVERY_MS);
