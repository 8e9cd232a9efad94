/** The address of the page, and how it is changed without a new entry in the history. */
interface Address {
  readonly location: Pick<Location, 'hash' | 'pathname' | 'search'>;
  readonly history: Pick<History, 'replaceState'>;
}

/** The value of that name behind the `#` of the address. It is removed from the address, so that a copied link has no token. */
export function takeFromAddress(name: string, { location, history }: Address = globalThis): string | undefined {
  const value = new URLSearchParams(location.hash.slice(1)).get(name) ?? undefined;
  if (value !== undefined) history.replaceState(null, '', location.pathname + location.search);
  return value;
}
