// Runs before the first paint, so that a chosen theme never flashes the other one. The content security policy allows
// no inline script, hence a file of its own. Keep the key in step with src/lib/theme.ts.
try {
  const theme = localStorage.getItem('tsumugiTheme')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {
  // Storage may be forbidden; the system's theme is used.
}
