import { useSyncExternalStore } from 'react';

const DARK = '(prefers-color-scheme: dark)';

/** What canvases must follow by themselves: they do not see CSS variables change. */
export function useColorScheme(): 'dark' | 'light' {
  return useSyncExternalStore(
    subscribe,
    () => (matchMedia(DARK).matches ? 'dark' : 'light'),
    () => 'light',
  );
}

function subscribe(onChange: () => void): () => void {
  const query = matchMedia(DARK);
  query.addEventListener('change', onChange);
  return () => query.removeEventListener('change', onChange);
}
