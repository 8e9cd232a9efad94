/** The text, or its end behind an ellipsis: names of nodes and tensors differ at the end. */
export function fittedText(text: string, widthPx: number, context: CanvasRenderingContext2D): string {
  let shown = text;
  while (shown.length > 2 && context.measureText(shown).width > widthPx) shown = `…${shown.slice(2)}`;
  return shown;
}
