/** What does an engine print of a step? Each form is that of the engine's own source. */
import type { EngineRun, NotFinite } from '@coxswain/api-types';
import { parsePlainLine } from './plain-line.ts';
import type { StepLine } from './printed-step.ts';

/** How one engine prints a step. */
export interface StepForm {
  /** That every line of a step holds, in one piece whatever colours there are. */
  readonly needle: string;
  /** Takes text without colours; undefined where it is no line of a step. */
  readonly parse: (text: string) => StepLine | undefined;
}

/** The form of each engine whose printed steps are read. */
export const STEP_FORMS: Readonly<Record<NonNullable<EngineRun['stepLines']>, StepForm>> = {
  plain: { needle: 'oss', parse: parsePlainLine },
  /**
   * `training_log` in megatron/training/training.py of core_v0.12 to main, by the last rank, every `--log-interval` steps. Means over those steps:
   *  [2026-11-23 18:00:00] iteration        5/     100 | consumed samples: 40 | elapsed time per iteration (ms): 118.2 | learning rate: 1.000000E-04 | global batch size: 8 | lm loss: 5.176500E+00 | loss scale: 1.0 | grad norm: 1.310 |
   */
  megatron: {
    needle: ' iteration ',
    parse(text) {
      const [, step] = / iteration +(\d{1,15})\/ *\d{1,15} \|/.exec(text) ?? [];
      if (step === undefined) return undefined;
      return {
        step: Number(step),
        loss: numberAfter(text, ' lm loss: '),
        gradNorm: numberAfter(text, ' grad norm: '),
        learningRate: numberAfter(text, ' learning rate: '),
        stepTimeMs: numberAfter(text, ' elapsed time per iteration (ms): '),
        ...notFiniteIn(text, { loss: ' lm loss: ', gradNorm: ' grad norm: ' }),
      };
    },
  },
  /**
   * `MetricsProcessor.log` in torchtitan/components/metrics.py of v0.1 to v0.2.2, and as 0.3.0 prints it, by every rank, every `metrics.log_freq` steps; -1 is the loss of stages that hold none:
   * step:  5  loss:  8.0083  grad_norm:  1.0437  memory:  0.98GiB(4.15%)  tps: 374  tflops: 0.00  mfu: 0.00%
   */
  torchtitan: {
    needle: 'step:',
    parse(text) {
      const [, step] = /(?<!validate )step: {0,16}(\d{1,15}) {2}loss:/.exec(text) ?? [];
      if (step === undefined) return undefined;
      const loss = numberAfter(text, 'loss:');
      const gradNorm = numberAfter(text, 'grad_norm:');
      const known = { step: Number(step), loss: loss === -1 ? null : loss, gradNorm };
      const words = notFiniteIn(text, { loss: 'loss:', gradNorm: 'grad_norm:' });
      return { ...known, learningRate: null, stepTimeMs: null, ...words };
    },
  },
  /**
   * `_report_progress` in deepspeed/runtime/engine.py, by rank 0, every `steps_per_print` steps. It holds no loss:
   * [2026-11-23 18:00:00,000] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=0, lr=[0.0001], mom=[(0.9, 0.999)]
   */
  deepspeed: {
    needle: '] step=',
    parse(text) {
      const [, step] = /\[Rank 0\] step=(\d{1,15}), skipped=\d/.exec(text) ?? [];
      if (step === undefined) return undefined;
      const learningRate = numberAfter(text, ', lr=[');
      return { step: Number(step), loss: null, gradNorm: null, learningRate, stepTimeMs: null };
    },
  },
  /**
   * `ProgressCallback.on_log` and `PrinterCallback` in transformers/trainer_callback.py, by rank 0, every `logging_steps` steps. Numbers are quoted from 5 on,
   * and no step is printed:
   * {'loss': '4.857', 'grad_norm': '1.416', 'learning_rate': '0.00075', 'epoch': '0.0625'}
   */
  'hugging-face': {
    needle: "{'loss': ",
    parse(text) {
      if (!text.includes("'epoch': ")) return undefined;
      return {
        step: null,
        loss: numberAfter(text, "'loss': "),
        gradNorm: numberAfter(text, "'grad_norm': "),
        learningRate: numberAfter(text, "'learning_rate': "),
        stepTimeMs: null,
        ...notFiniteIn(text, { loss: "'loss': ", gradNorm: "'grad_norm': " }),
      };
    },
  },
};

const LONGEST_NUMBER = 40;

/** What stands behind the first `name`; nothing where it is not there. */
function behind(text: string, name: string): string {
  const at = text.indexOf(name);
  return at === -1 ? '' : text.slice(at + name.length, at + name.length + LONGEST_NUMBER);
}

/** The number behind the first `name`, in quotation marks or not. */
function numberAfter(text: string, name: string): number | null {
  const [, digits] = /^[ ']*([-+]?\d[\d.]*(?:[eE][-+]?\d+)?)/.exec(behind(text, name)) ?? [];
  const number = Number(digits);
  return Number.isFinite(number) && Math.abs(number) <= 1e30 ? number : null;
}

/** As Python and C print them, in letters of either case. */
const NOT_FINITE: Readonly<Record<string, NotFinite['loss']>> = {
  nan: 'NaN',
  '-nan': 'NaN',
  inf: 'Infinity',
  '+inf': 'Infinity',
  '-inf': '-Infinity',
};

/** What stands behind the first `name` where it is the word of a figure that is not finite. */
function wordAfter(text: string, name: string): NotFinite['loss'] {
  const [, word = ''] = /^[ ']*([-+]?(?:nan|inf))(?![a-z])/i.exec(behind(text, name)) ?? [];
  return NOT_FINITE[word.toLowerCase()];
}

/** Of the figures behind these names. */
function notFiniteIn(text: string, names: Readonly<Record<keyof NotFinite, string>>): Pick<StepLine, 'notFinite'> {
  const loss = wordAfter(text, names.loss);
  const gradNorm = wordAfter(text, names.gradNorm);
  if (loss === undefined && gradNorm === undefined) return {};
  return { notFinite: { ...(loss && { loss }), ...(gradNorm && { gradNorm }) } };
}
