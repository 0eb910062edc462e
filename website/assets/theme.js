// Before the first paint: the theme that the reader chose here. Without a choice the system's holds, by CSS.
(() => {
  try {
    const chosen = localStorage.getItem("tenure-docs-theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // A page from a folder may have no storage; the choice then lasts for the page.
  }
})();
