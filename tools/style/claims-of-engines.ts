/** Sentences of pages that say what an engine can do, compared with what it can do. */
import type { EngineList } from '@coxswain/api-types';

type Engine = EngineList['items'][number];

/** What a page claims against the list of engines. */
export interface UnsupportedClaim {
  readonly engine: string;
  /** Option, or value of one, as layouts spell it. */
  readonly what: string;
  readonly sentence: string;
}

/** As pages call engines; others are called as jobs name them. */
const TITLES: Readonly<Record<string, RegExp>> = {
  'megatron-lm': /Megatron-LM/,
  'megatron-bridge': /Megatron-Bridge/,
  torchtitan: /TorchTitan/,
  deepspeed: /DeepSpeed/,
  'hugging-face': /Hugging Face(?:'s)? Trainer/,
};

const DEGREES: Readonly<Record<string, RegExp>> = {
  tensorParallelDegree: /\btensor\b[^.]*\bparallelism\b/i,
  pipelineParallelDegree: /\bpipeline\b[^.]*\bparallelism\b/i,
  contextParallelDegree: /\bcontext\b[^.]*\bparallelism\b/i,
};

const CLAIM = /\b(?:supports?|can|has|have|lacks?|cannot)\b/;
const NEGATION = /\b(?:not|no|cannot|lacks?|without|neither|rejects?|refuses?)\b/;

/** Claims of a page in Markdown that the engines do not bear out. Sentences that name several engines are left out. */
export function unsupportedClaims(page: string, engines: readonly Engine[]): readonly UnsupportedClaim[] {
  const text = page.replaceAll(/```[^]*?```/g, '').replaceAll(/\s*\n(?!\n)/g, ' ');
  return text.split(/\n\n|(?<=[.:;?])\s+|\s[|]\s/).flatMap((sentence) => {
    const named = engines.filter(({ name }) => isNamed(name, sentence));
    const [engine] = named;
    if (engine === undefined || named.length > 1 || !CLAIM.test(sentence)) return [];
    const wants = !NEGATION.test(sentence);
    return mentioned(sentence, engines)
      .filter((what) => what !== engine.name && supports(engine, what) !== wants)
      .map((what) => ({ engine: engine.name, what, sentence: sentence.trim() }));
  });
}

function isNamed(name: string, sentence: string): boolean {
  return (
    new RegExp(`\`${name}\`|[Ee]ngine ${name}\\b|\\b${name} engine\\b`).test(sentence) ||
    TITLES[name]?.test(sentence) === true
  );
}

function mentioned(sentence: string, engines: readonly Engine[]): readonly string[] {
  const quoted = [...sentence.matchAll(/`(?:layout\.)?([\w.-]+)`/g)].map(([, word = '']) => word);
  return [
    ...quoted.filter((word) => engines.some((engine) => supports(engine, word))),
    ...Object.entries(DEGREES).flatMap(([degree, phrase]) => (phrase.test(sentence) ? [degree] : [])),
  ];
}

function supports({ abilities }: Engine, what: string): boolean {
  return Object.values(abilities).some(
    (list: unknown) =>
      Array.isArray(list) &&
      list.some((one: unknown) => one === what || (typeof one === 'string' && what.startsWith(`${one}.`))),
  );
}
