// Search in the pages: every word must be in a page; pages with the words in their title come first. The index is a file
// of this site, read when the reader begins to type.
"use strict";
const root = document.currentScript.dataset.root;
const input = document.getElementById("search");
const found = document.getElementById("found");
let index;

function score(page, words) {
  const title = page.title.toLowerCase(), text = page.text.toLowerCase();
  let sum = 0;
  for (const w of words) {
    if (!text.includes(w)) return 0;
    sum += (title.includes(w) ? 100 : 0) + Math.min(20, text.split(w).length - 1);
  }
  return sum;
}

function excerpt(page, word) {
  const at = page.text.toLowerCase().indexOf(word);
  return page.text.slice(Math.max(0, at - 40), at + 80);
}

async function show() {
  index ??= fetch(root + "search.json").then((r) => r.json());
  const pages = await index;
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const best = words.length === 0 ? [] : pages.map((p) => [score(p, words), p]).filter(([s]) => s > 0)
    .sort((a, b) => b[0] - a[0]).slice(0, 12);
  found.replaceChildren(...best.map(([, page]) => {
    const a = document.createElement("a"), small = document.createElement("small"), li = document.createElement("li");
    a.href = root + page.to;
    a.textContent = page.title;
    small.textContent = excerpt(page, words[0]);
    li.append(a, document.createElement("br"), small);
    return li;
  }));
  if (words.length > 0 && best.length === 0) found.append("No page has these words.");
}

input.hidden = false;
input.addEventListener("input", show);
