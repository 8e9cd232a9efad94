/** Tells people what is going on and for how long. Steps may run side by side. */
export interface Progress {
  /** Runs `work` as one named step: prints its start, progress now and then, and its time at the end. */
  step<T>(name: string, work: (note: (text: string) => void) => Promise<T>): Promise<T>;
  /** One line of its own. */
  say(text: string): void;
}

/** A step that runs. */
interface Step {
  readonly name: string;
  readonly startedMs: number;
  note: string;
}

/** Where lines go to. */
export type ProgressStream = Pick<NodeJS.WriteStream, 'write' | 'columns' | 'isTTY'>;

const LOG_INTERVAL_MS = 20_000;
const TERMINAL_INTERVAL_MS = 500;
const ERASE_LINE = '\r\x1b[K';

/** Progress on `stream`: one line that rewrites itself on a terminal, a line for each step every 20 s in a log. */
export function progressOn(stream: ProgressStream): Progress {
  const live = stream.isTTY === true;
  const steps = new Set<Step>();
  let timer: NodeJS.Timeout | undefined;
  const say = (text: string): void => void stream.write(`${live ? ERASE_LINE : ''}${text}\n`);
  const tell = (step: Step): void => say(`  … ${describeStep(step)}`);
  const tick = (): void => {
    if (live) stream.write(`${ERASE_LINE}${liveLine([...steps]).slice(0, stream.columns - 1)}`);
    else steps.forEach(tell);
  };
  const begin = (step: Step): void => {
    steps.add(step);
    timer ??= setInterval(tick, live ? TERMINAL_INTERVAL_MS : LOG_INTERVAL_MS);
  };
  const end = (step: Step, mark: string): void => {
    steps.delete(step);
    say(`  ${mark} ${step.name} (${secondsSince(step.startedMs)})`);
    if (steps.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
  return {
    say,
    step: async (name, work) => {
      const step: Step = { name, startedMs: performance.now(), note: '' };
      begin(step);
      try {
        const result = await work((text) => {
          step.note = text;
          if (!live) tell(step);
        });
        end(step, '✓');
        return result;
      } catch (error) {
        end(step, '✗');
        throw error;
      }
    },
  };
}

/** One step with what it says of itself; several by name and time only, so that all of them fit. */
function liveLine(steps: readonly Step[]): string {
  const [only] = steps;
  if (steps.length === 1 && only !== undefined) return `  … ${describeStep(only)}`;
  return `  … ${steps.map((step) => `${step.name} (${secondsSince(step.startedMs)})`).join(' · ')}`;
}

function describeStep({ name, note, startedMs }: Step): string {
  return `${name}${note === '' ? '' : `: ${note}`} (${secondsSince(startedMs)})`;
}

/** "0.4 s" or "75 s". */
export function secondsSince(startedMs: number): string {
  const seconds = (performance.now() - startedMs) / 1000;
  return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
}
