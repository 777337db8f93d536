// The chosen theme must be applied before the first paint, and the content security policy allows no inline script. The
// key is the one of src/lib/ui/theme.ts.
try {
  const theme = localStorage.getItem('tsumugiTheme')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {
  // Storage is forbidden: the theme of the system is used.
}
