/**
 * What do the lines of a program say of a step, if its author chose their form? Scripts of many people were read for this: nanoGPT, build-nanogpt, llm.c, LitGPT,
 * torchtune, pytorch/examples, and loops of one's own. A line counts if it names a loss of the training and a number behind it.
 */
import type { NotFinite } from '@coxswain/api-types';
import type { StepLine } from './printed-step.ts';

/** At most so many blanks stand between a name and its number. */
const GAP = '["\')\\]]{0,2}\\s{0,16}[:=|]?\\s{0,16}["\'([]{0,2}';
const NUMBER = '([-+]?(?:\\d[\\d.]{0,30}(?:e[-+]?\\d{1,3})?|nan|inf(?:inity)?))(?![A-Za-z\\d])';
/** `train_loss: 2.31`, `loss=2.31`, `Loss (avg) 2.31`, `"loss": tensor(2.31`. */
const LOSS = new RegExp(
  `(?:([a-z]{1,20})([ _/.-]))?(?<![a-z])loss(?:[ _/]?\\(?(?:train|training|avg|mean)\\)?)?${GAP}(?:tensor\\()?${NUMBER}`,
  'gi',
);
/** Joined with `loss` in one name, these are the loss that is trained on. Others are parts of it, or of another data set. */
const TRAINED = new Set(
  'train training total avg average mean running batch step global lm ce mlm nll cross entropy'.split(' '),
);
/** As a word before `loss`, these are another one. */
const OTHER = new Set('val valid validation eval evaluation test dev best aux auxiliary kl'.split(' '));
const NOT_TRAINING =
  /(?<![a-z])(?:val|valid|validation|validating|eval|evaluation|evaluating|evaluate|test|testing)(?![a-z])/i;
/** The first that is there counts: a line may name the step and the batch of an epoch. */
const STEPS = [
  ...['global[ _]step', 'step', 'iter(?:ation)?', 'update', 'batch'].map(
    (name) => new RegExp(`(?<![a-z])${name}s?(?:_?(?:num|idx|no|number))?${GAP}#?(\\d{1,15})(?![\\d.]*[a-z%])`, 'i'),
  ),
  // The bar of tqdm: ` 10%|#  | 10/100 [00:03<00:27, 3.3it/s, loss=2.31]`
  /(?<!\d)(\d{1,15})\/\d{1,15} \[\d{1,3}:\d/,
] as const;
const GRADIENT_NORM = new RegExp(`(?<![a-z])(?:grad(?:ient)?s?[ _./-]?norm|gnorm|norm)${GAP}${NUMBER}`, 'i');
const LEARNING_RATE = new RegExp(`(?<![a-z])(?:lr|learning[ _]rate)${GAP}${NUMBER}`, 'i');
const STEP_TIME = new RegExp(`(?<![a-z])(?:dt|time|step[ _]time)${GAP}(\\d[\\d.]{0,30}) ?ms(?![a-z])`, 'i');

/** Undefined: the line names no loss of the training. */
export function parsePlainLine(text: string): StepLine | undefined {
  const loss = lossIn(text);
  if (loss === undefined) return undefined;
  const norm = GRADIENT_NORM.exec(text)?.[1];
  const step = STEPS.map((form) => form.exec(text)?.[1]).find((digits) => digits !== undefined);
  const notFinite = { ...wordOf('loss', loss), ...wordOf('gradNorm', norm) };
  return {
    step: step === undefined ? null : Number(step),
    loss: numberOf(loss),
    gradNorm: numberOf(norm),
    learningRate: numberOf(LEARNING_RATE.exec(text)?.[1]),
    stepTimeMs: numberOf(STEP_TIME.exec(text)?.[1]),
    isOwnCount: true,
    ...(Object.keys(notFinite).length === 0 ? {} : { notFinite }),
  };
}

function lossIn(text: string): string | undefined {
  for (const match of text.matchAll(LOSS)) {
    const [, before = '', separator, number] = match;
    const word = before.toLowerCase();
    const isTrained = separator === undefined || (separator === ' ' ? !OTHER.has(word) : TRAINED.has(word));
    if (isTrained && (word.startsWith('train') || !NOT_TRAINING.test(text.slice(0, match.index)))) return number;
  }
  return undefined;
}

function numberOf(digits: string | undefined): number | null {
  const number = digits === undefined ? NaN : Number(digits);
  return Number.isFinite(number) && Math.abs(number) <= 1e30 ? number : null;
}

/** The word of a figure that is not finite, as Python prints it. */
function wordOf<Name extends keyof NotFinite>(name: Name, digits: string | undefined): Pick<NotFinite, Name> {
  const word = digits?.toLowerCase() ?? '';
  if (word.endsWith('nan')) return { [name]: 'NaN' } as Pick<NotFinite, Name>;
  if (!word.includes('inf')) return {} as Pick<NotFinite, Name>;
  return { [name]: word.startsWith('-') ? '-Infinity' : 'Infinity' } as Pick<NotFinite, Name>;
}
