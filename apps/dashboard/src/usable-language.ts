/**
 * A browser that was started with LANG=C calls its language `en-US@posix`, which Intl refuses. uPlot asks Intl while it is being loaded, so
 * the whole page would stay empty; this module is imported before it.
 */
try {
  new Intl.NumberFormat(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en' });
}
