/**
 * Expands `$(NAME)` as Kubernetes does in command, args and env: a name that is unknown stays as written, `$$` gives
 * one `$` and so escapes a reference. Source: Container in the core/v1 API reference.
 */
export function expand(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replace(/\$\$|\$\(([^()]*)\)/g, (written, name: string | undefined) => {
    if (name === undefined) {
      return '$';
    }
    return Object.hasOwn(variables, name) ? (variables[name] ?? written) : written;
  });
}
