/** Lines of a table with aligned columns: the first to the left, all others to the right. */
export function tableLines(header: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const lines = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)));
  const written = lines.map((line) =>
    widths
      .map((width, column) => {
        const cell = line[column] ?? '';
        return column === 0 ? cell.padEnd(width) : cell.padStart(width);
      })
      .join('  ')
      .trimEnd(),
  );
  const rule = widths.map((width) => '-'.repeat(width)).join('  ');
  return [...written.slice(0, 1), rule, ...written.slice(1)];
}
