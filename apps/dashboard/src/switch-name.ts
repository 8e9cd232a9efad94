/** What a person calls a switch or a domain: names spell the whole way down, as in `zone=a/topograph:tier-0=leaf-1`. */
export function shortName(name: string): string {
  const last = name.slice(name.lastIndexOf('/') + 1);
  return last.slice(last.lastIndexOf('=') + 1) || name;
}
