/**
 * Normalised name of the software that ran a job: family and release, as a user can state it. A name without a release is the family.
 * Releases are kept to the month (`26.04`; `mid-2026` is
 * `26.06`) or year, because that is what publications agree on.
 */

interface Family {
  readonly name: string;
  readonly words: RegExp;
}

/** The first family whose words an engine contains; more specific families stand first. */
const FAMILIES: readonly Family[] = [
  { name: 'nemo mlperf', words: /(nemo|mcore|megatron).*mlperf|mlperf.*(nemo|mcore|megatron)/ },
  { name: 'amd mlperf', words: /(rocm|pytorch).*mlperf|primus.*mlperf/ },
  { name: 'maxtext', words: /maxtext|t5x|paxml|\bpax\b|\bjax\b|pathways/ },
  { name: 'megatron-bridge', words: /megatron.?bridge|\bbridge\b/ },
  { name: 'nemo', words: /\bnemo\b/ },
  { name: 'composer-fsdp', words: /composer|llm.?foundry|mosaic/ },
  { name: 'torchtitan', words: /torch.?titan|\btitan\b/ },
  { name: 'internevo', words: /intern.?evo|internlm/ },
  { name: 'colossal-ai', words: /colossal/ },
  { name: 'oneflow', words: /oneflow|libai/ },
  { name: 'sailor', words: /sailor/ },
  { name: 'primus', words: /primus/ },
  { name: 'nanotron', words: /nanotron/ },
  { name: 'mindspeed', words: /mindspeed/ },
  { name: 'megascale', words: /megascale/ },
  { name: 'zero-bubble', words: /zero.?bubble/ },
  { name: 'moe-folding', words: /folding|5d|tp\+ep\+dp|fsdp\+ep/ },
  { name: 'megatron-deepspeed', words: /megatron.?deepspeed/ },
  { name: 'megatron-llama', words: /megatron.?llama|holmes/ },
  { name: 'vocabulary-parallel', words: /\b(vocab[12]|redis|interlaced)\b|1f1b \/ base|half \/ base/ },
  { name: 'megatron-core', words: /megatron.?core|\bmcore\b/ },
  { name: 'megatron-lm', words: /megatron/ },
  { name: 'deepspeed', words: /deepspeed|zero-?[123]/ },
  { name: 'fsdp', words: /fsdp|metaseq/ },
  { name: 'pytorch', words: /pytorch|torch/ },
];

/** `generic` where no word is known. */
export function familyOfEngine(engine: string): string {
  const text = engine.toLowerCase();
  return FAMILIES.find(({ words }) => words.test(text))?.name ?? 'generic';
}

/** Family and release, `megatron-bridge 26.04`; only the family where the engine states no release. */
export function stackOfEngine(engine: string): string {
  const family = familyOfEngine(engine);
  const release = releaseOf(engine, family);
  return release === undefined ? family : `${family} ${release}`;
}

/** When a stack was current, in years: 2026.25 for a container of April 2026. Undefined where the engine does not tell. */
export function timeOfEngine(engine: string): number | undefined {
  const year = /\b(mid-)?(20\d\d)\b/.exec(engine);
  if (year?.[2] !== undefined) return Number(year[2]) + (year[1] === undefined ? 0 : 0.5);
  const round = /mlperf (\d)\.(\d)/i.exec(engine);
  if (round?.[1] !== undefined) return 2020 + Number(round[1]) + Number(round[2]) / 2;
  const container = /\b(2\d)\.(0[1-9]|1[0-2]|x)\b/.exec(engine);
  if (container?.[1] === undefined) return undefined;
  return 2000 + Number(container[1]) + (container[2] === 'x' ? 0 : (Number(container[2]) - 1) / 12);
}

/** Families whose releases have months: a year alone names none of them. */
const MONTHLY_FAMILIES = /^(megatron-bridge|nemo)$/;

function releaseOf(engine: string, family: string): string | undefined {
  const text = engine.toLowerCase();
  const midYear = /mid-20(\d\d)/.exec(text)?.[1];
  return (
    /mlperf (\d\.\d)/.exec(text)?.[1] ??
    /\b(2[0-9]\.(?:0[1-9]|1[0-2]|x))/.exec(text)?.[1] ??
    (midYear === undefined ? undefined : `${midYear}.06`) ??
    /\(v(\d+\.\d+)/.exec(text)?.[1] ??
    (MONTHLY_FAMILIES.test(family) ? undefined : /\b(20\d\d)\b/.exec(text)?.[1])
  );
}
