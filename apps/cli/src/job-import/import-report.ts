import { adviceFor } from './leftovers.ts';
import { partsOf, type Source } from './source.ts';

/** What became of one field: taken over as it is, taken over as something else, or not taken. */
export interface ReportLine {
  readonly outcome: 'taken' | 'changed' | 'left';
  /** Where it stood. */
  readonly from: string;
  /** Field of the job. */
  readonly to?: string;
  readonly why?: string;
  /** What the user may have to do about it. */
  readonly todo?: string;
}

/** What becomes of each field of what is imported. */
export class ImportReport {
  readonly #lines: ReportLine[] = [];

  taken(from: Source, to: string): void {
    if (from.isThere) this.#lines.push({ outcome: 'taken', from: from.path, to });
  }

  changed(from: Source, to: string, note: { readonly why: string; readonly todo?: string }): void {
    if (from.isThere) this.#lines.push({ outcome: 'changed', from: from.path, to, ...note });
  }

  left(from: Source, note: { readonly why: string; readonly todo?: string }): void {
    if (from.isThere) this.#lines.push({ outcome: 'left', from: from.path, ...note });
  }

  /** An option among the words of a command, which has no path of its own. */
  option(command: Source, option: string, why: string): void {
    this.#lines.push({ outcome: 'left', from: `${command.path} (${option})`, why });
  }

  /** Lines about what has no path in the file. */
  add(...lines: readonly ReportLine[]): void {
    this.#lines.push(...lines);
  }

  /** Every line, in the order of outcomes. Fields that no rule covered are listed as left out. */
  finish(documents: readonly Source[]): readonly ReportLine[] {
    for (const document of documents) this.#leaveRest(document);
    return (['taken', 'changed', 'left'] as const).flatMap((one) =>
      this.#lines.filter(({ outcome }) => outcome === one),
    );
  }

  #leaveRest(source: Source): void {
    if (!source.isThere || this.#lines.some(({ from }) => from === source.path)) return;
    const parts = partsOf(source);
    const advice = adviceFor(source.path);
    const isSpokenOf = source.path === '' || this.#lines.some(({ from }) => isBelow(from, source.path));
    if (isSpokenOf || (advice === undefined && parts.some(hasAdvice))) {
      for (const part of parts) this.#leaveRest(part);
    } else {
      this.left(source, advice ?? UNKNOWN);
    }
  }
}

const UNKNOWN = { why: 'a job has no word for it' };

function isBelow(path: string, above: string): boolean {
  return path.startsWith(`${above}.`) || path.startsWith(`${above}[`);
}

/** Whether something is known of the field, or of one below it: then it is worth a line of its own. */
function hasAdvice(source: Source): boolean {
  return adviceFor(source.path) !== undefined || partsOf(source).some(hasAdvice);
}
