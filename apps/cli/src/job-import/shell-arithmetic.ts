/** `$((GPUS * NODES))` of a script: whole numbers, variables, + - * / % and parentheses. Undefined for anything else. */
export function arithmetic(text: string, variable: (name: string) => string | undefined): string | undefined {
  const tokens = text.replaceAll(/\$\{?(\w+)\}?/g, '$1').match(/\d+|[A-Za-z_]\w*|[-+*/%()]|\S/g) ?? [];
  let at = 0;
  const primary = (depth: number): number | undefined => {
    const token = tokens[at++];
    if (token === undefined || depth > 50) return undefined;
    if (token === '(') {
      const inner = sum(depth + 1);
      return tokens[at++] === ')' ? inner : undefined;
    }
    if (token === '-') {
      const inner = primary(depth + 1);
      return inner === undefined ? undefined : -inner;
    }
    const value = /^\d+$/.test(token) ? token : /^[A-Za-z_]/.test(token) ? variable(token) : undefined;
    return value !== undefined && /^-?\d{1,15}$/.test(value) ? Number(value) : undefined;
  };
  const chain = (operators: string, next: (depth: number) => number | undefined, depth: number): number | undefined => {
    let left = next(depth);
    while (left !== undefined && tokens[at] !== undefined && operators.includes(tokens[at] ?? '')) {
      const operator = tokens[at++];
      const right = next(depth);
      left = right === undefined ? undefined : applied(operator, left, right);
    }
    return left;
  };
  const product = (depth: number): number | undefined => chain('*/%', primary, depth);
  const sum = (depth: number): number | undefined => chain('+-', product, depth);
  const value = sum(0);
  return value === undefined || at !== tokens.length || !Number.isSafeInteger(value) ? undefined : String(value);
}

function applied(operator: string | undefined, left: number, right: number): number | undefined {
  if (operator === '*') return left * right;
  if (operator === '+') return left + right;
  if (operator === '-') return left - right;
  if (right === 0) return undefined;
  return operator === '/' ? Math.trunc(left / right) : left % right;
}
