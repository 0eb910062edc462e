// What a page does beyond being read: the theme, the list of pages on a phone, copying code, where the reader is.
"use strict";

const root = document.documentElement;

function button(selector, act) {
  const found = document.querySelector(selector);
  if (!found) return null;
  found.hidden = false;
  found.addEventListener("click", () => act(found));
  return found;
}

button("button.theme", () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try {
    localStorage.setItem("tenure-docs-theme", root.dataset.theme);
  } catch {
    // No storage: it lasts for this page.
  }
});

const menu = button("button.menu", () => showMenu(!document.body.classList.contains("menu-open")));

function showMenu(open) {
  document.body.classList.toggle("menu-open", open);
  menu?.setAttribute("aria-expanded", String(open));
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && document.body.classList.contains("menu-open")) {
    showMenu(false);
    menu?.focus();
  }
});

// The page's own entry is in view; the list does not jump when a page is opened from it.
const rail = document.querySelector(".rail");
const here = rail?.querySelector("[aria-current]");
if (here && rail.scrollHeight > rail.clientHeight) {
  rail.scrollTop = here.getBoundingClientRect().top - rail.getBoundingClientRect().top - rail.clientHeight / 3;
}

for (const copy of document.querySelectorAll("button.copy")) {
  copy.hidden = false;
  copy.addEventListener("click", async () => {
    const code = copy.parentElement.querySelector("code").textContent;
    copy.textContent = (await copied(code)) ? "Copied" : "Not copied";
    setTimeout(() => (copy.textContent = "Copy"), 1600);
  });
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Only secure pages have a clipboard; this works from a folder and over plain HTTP.
    const area = document.createElement("textarea");
    area.value = text;
    area.style.cssText = "position:fixed;opacity:0";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

// The heading that is read, in the list of headings.
const entries = new Map();
for (const link of document.querySelectorAll(".contents a")) {
  const heading = document.getElementById(decodeURIComponent(link.hash.slice(1)));
  if (heading) entries.set(heading, link);
}
if (entries.size) {
  const headings = [...entries.keys()];
  let waits = false;
  const mark = () => {
    waits = false;
    const passed = headings.filter((heading) => heading.getBoundingClientRect().top < 120);
    const current = passed.at(-1) ?? headings[0];
    for (const [heading, link] of entries) link.classList.toggle("is-here", heading === current);
  };
  addEventListener("scroll", () => {
    if (!waits) requestAnimationFrame(mark);
    waits = true;
  });
  mark();
}
