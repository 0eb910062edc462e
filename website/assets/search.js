// Search in all pages, without a server: the rows come in a script, when the reader first asks.
"use strict";

(() => {
  const MOST = 30;
  const root = document.documentElement.dataset.root;
  let rows = null;
  let chosen = 0;

  const dialog = document.createElement("dialog");
  dialog.className = "search";
  dialog.setAttribute("aria-label", "Search the documents");
  dialog.innerHTML =
    '<input type="search" placeholder="Search the documents" aria-label="Search the documents" autocomplete="off" ' +
    'spellcheck="false" role="combobox" aria-expanded="true" aria-controls="found"><ul id="found" role="listbox" ' +
    'aria-label="Found"></ul><p class="state" role="status"></p>';
  document.body.append(dialog);
  const [input, list, state] = dialog.children;

  const opener = document.querySelector("button.find");
  if (opener) {
    opener.hidden = false;
    opener.addEventListener("click", open);
  }
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
    const asked = (event.key === "/" && !typing) || (event.key === "k" && (event.ctrlKey || event.metaKey));
    if (asked && !dialog.open) {
      event.preventDefault();
      open();
    }
  });

  window.tenureSearch = (found) => {
    rows = found.map(([address, page, heading, section, text]) => ({
      address, page, heading, section, text,
      title: `${heading || page}`.toLowerCase(), of: page.toLowerCase(), low: text.toLowerCase(),
    }));
    show();
  };

  function open() {
    dialog.showModal();
    input.select();
    if (rows) return;
    state.textContent = "Loading …";
    const script = document.createElement("script");
    script.src = `${root}assets/search-index.js`;
    script.onerror = () => (state.textContent = "The index of the search could not be loaded.");
    document.head.append(script);
  }

  // What a reader of a sentence looks for first; a name of the code is looked up.
  const PREFERRED = { Start: 6, "How-to guides": 6, Explanation: 5, Runbooks: 2 };
  const isName = (word) => /[_.=()/]/.test(word);

  /** How well a word fits at its best place in a text: 3 as a whole word, 2 at the beginning of one, 1 inside, 0 not. */
  function fit(text, word) {
    let best = 0;
    for (let at = text.indexOf(word); at >= 0 && best < 3; at = text.indexOf(word, at + 1)) {
      const begins = at === 0 || !/[\p{L}\p{N}_]/u.test(text[at - 1]);
      const end = at + word.length;
      const ends = end === text.length || !/[\p{L}\p{N}_]/u.test(text[end]);
      best = Math.max(best, begins && ends ? 3 : begins ? 2 : 1);
    }
    return best;
  }

  function score(row, words) {
    let sum = (row.heading ? 0 : 10) + (words.some(isName) ? (row.section === "Reference" ? 8 : 0) : PREFERRED[row.section] ?? 0);
    for (const word of words) {
      const title = fit(row.title, word);
      const page = fit(row.of, word);
      const text = fit(row.low, word);
      if (!title && !page && !text) return 0;
      // A short title that is mostly the word is about it.
      sum += [0, 12, 30, 34][title] + (title ? (24 * word.length) / row.title.length : 0);
      sum += [0, 3, 9, 10][page] + [0, 1, 5, 9][text];
    }
    const all = words.join(" ");
    if (words.length > 1 && row.title.includes(all)) sum += 40;
    if (words.length > 1 && row.low.includes(all)) sum += 12;
    return sum;
  }

  function show() {
    if (!rows) return;
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    chosen = 0;
    if (!words.length) {
      list.replaceChildren();
      state.textContent = "↑ ↓ to choose, Enter to open, Esc to close";
      return;
    }
    const found = rows.map((row) => [score(row, words), row]).filter(([points]) => points > 0);
    found.sort((one, other) => other[0] - one[0]);
    list.replaceChildren(...found.slice(0, MOST).map(([, row], number) => entry(row, words, number)));
    state.textContent = found.length > MOST ? `The best ${MOST} of ${found.length}` : found.length ? "" : "Nothing found. Try fewer words.";
    choose(0);
  }

  function entry(row, words, number) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    item.id = `found-${number}`;
    item.setAttribute("role", "option");
    link.href = root + row.address;
    link.tabIndex = -1;
    link.addEventListener("click", () => dialog.close());
    const title = document.createElement("b");
    title.append(...marked(row.heading || row.page, words));
    const where = document.createElement("small");
    where.textContent = row.heading ? `${row.section} › ${row.page}` : row.section;
    const text = document.createElement("span");
    text.append(...marked(excerpt(row, words), words));
    link.append(title, where, text);
    item.append(link);
    item.addEventListener("pointermove", () => choose(number));
    return item;
  }

  function excerpt(row, words) {
    const places = words.map((word) => row.low.indexOf(word)).filter((at) => at >= 0);
    const at = places.length ? Math.max(0, Math.min(...places) - 50) : 0;
    const start = at ? row.text.indexOf(" ", at) + 1 : 0;
    return (start ? "… " : "") + row.text.slice(start, start + 170) + (row.text.length > start + 170 ? " …" : "");
  }

  function marked(text, words) {
    const escaped = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    return text.split(new RegExp(`(${escaped.join("|")})`, "iu")).map((part, number) => {
      if (number % 2 === 0) return part;
      const mark = document.createElement("mark");
      mark.textContent = part;
      return mark;
    });
  }

  function choose(number) {
    const items = [...list.children];
    if (!items.length) return;
    chosen = (number + items.length) % items.length;
    items.forEach((item, at) => item.setAttribute("aria-selected", String(at === chosen)));
    input.setAttribute("aria-activedescendant", `found-${chosen}`);
  }

  input.addEventListener("input", show);
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      choose(chosen + step);
      list.children[chosen]?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Escape") {
      // By itself it would only empty the field.
      event.preventDefault();
      dialog.close();
    } else if (event.key === "Enter") {
      event.preventDefault();
      list.children[chosen]?.querySelector("a").click();
    }
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
})();
