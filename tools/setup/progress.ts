/** Tells people what is going on and for how long. */
export interface Progress {
  /** Runs `work` as one named step: told at the start, now and then in between, and with its time at the end. */
  step<T>(name: string, work: (note: (text: string) => void) => Promise<T>): Promise<T>;
  /** One line of its own. */
  say(text: string): void;
}

const LOG_INTERVAL_MS = 20_000;
const TERMINAL_INTERVAL_MS = 500;
const ERASE_LINE = '\r\x1b[K';

/** Progress on `stream`: a line that rewrites itself on a terminal, a line every 20 s in a log. */
export function progressOn(stream: NodeJS.WriteStream): Progress {
  const live = stream.isTTY === true;
  const say = (text: string): void => void stream.write(`${live ? ERASE_LINE : ''}${text}\n`);
  return {
    say,
    step: async (name, work) => {
      const started = performance.now();
      let noted = '';
      const tick = (): void => {
        const line = `  … ${name}${noted === '' ? '' : `: ${noted}`} (${secondsSince(started)})`;
        stream.write(live ? `${ERASE_LINE}${line.slice(0, stream.columns - 1)}` : `${line}\n`);
      };
      const timer = setInterval(tick, live ? TERMINAL_INTERVAL_MS : LOG_INTERVAL_MS);
      try {
        const result = await work((text) => {
          noted = text;
          if (!live) {
            tick();
          }
        });
        say(`  ✓ ${name} (${secondsSince(started)})`);
        return result;
      } catch (error) {
        say(`  ✗ ${name} (${secondsSince(started)})`);
        throw error;
      } finally {
        clearInterval(timer);
      }
    },
  };
}

/** "0.4 s" or "75 s". */
export function secondsSince(startedMs: number): string {
  const seconds = (performance.now() - startedMs) / 1000;
  return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
}
