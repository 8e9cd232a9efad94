/**
 * The stage layout notation of Megatron-Core (`--pipeline-model-parallel-layout`): `E` embedding, `t` decoder layer, `m`
 * multi-token-prediction layer, `L` loss, `|` ends a virtual stage, `*n` repeats what stands before it, parentheses group.
 */
import type { StagePart } from '@coxswain/planner';

const NOTATION = /[Etm L|()]|\*\d+/g;
/** A pipeline deeper than this is a typing error, not a layout. */
const LARGEST_EXPANSION = 100_000;

/**
 * Virtual stages in the order a sample passes through them.
 *
 * @throws Error naming the position when the text is not in the notation
 */
export function stagesOfLayoutText(text: string): readonly StagePart[] {
  return expanded(text).split('|').filter(holdsSomething).map(stageOf);
}

/** The text without repeats and parentheses. */
function expanded(text: string): string {
  const tokens = tokensOf(text);
  const open: string[][] = [[]];
  for (const token of tokens) {
    const current = open.at(-1) ?? [];
    if (token === '(') {
      open.push([]);
    } else if (token === ')') {
      if (open.length < 2) throw new Error(`pipeline layout ${text}: ) without (`);
      open.pop();
      (open.at(-1) ?? []).push(current.join(''));
    } else if (token.startsWith('*')) {
      const repeated = current.pop();
      if (repeated === undefined) throw new Error(`pipeline layout ${text}: ${token} repeats nothing`);
      const times = Number(token.slice(1));
      if (repeated.length * times > LARGEST_EXPANSION) throw new Error(`pipeline layout ${text}: ${token} is too long`);
      current.push(repeated.repeat(times));
    } else {
      current.push(token);
    }
  }
  if (open.length > 1) throw new Error(`pipeline layout ${text}: ( without )`);
  return (open[0] ?? []).join('');
}

function tokensOf(text: string): readonly string[] {
  const compact = text.replaceAll(/\s/g, '');
  const tokens = compact.match(NOTATION) ?? [];
  if (tokens.join('') === compact) return tokens;
  throw new Error(`pipeline layout ${text}: only E, t, m, L, |, *n and parentheses are known`);
}

function holdsSomething(stage: string): boolean {
  return stage !== '';
}

function stageOf(stage: string): StagePart {
  const count = (letter: string): number => stage.split(letter).length - 1;
  return { layers: count('t'), embedding: count('E') > 0, loss: count('L') > 0, mtpLayers: count('m') };
}
