// Before the first paint: the theme that was chosen in this browser, so that nothing flashes.
try {
  const theme = localStorage.getItem("tenure.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  const density = localStorage.getItem("tenure.density");
  if (density === "compact" || density === "comfortable") document.documentElement.dataset.density = density;
} catch {
  // A browser that keeps nothing shows the system's theme.
}
