import type { EngineRendering } from '@coxswain/api-types';

/** A user whose program does what an engine does not, such as a framework on top of the engine, needs no other engine. */
export const OWN_PROGRAM = 'Does your own program do it? Engine custom runs it, and gives it the layout as a file.';

const RUNS_PROGRAM_OF_USER: ReadonlySet<string> = new Set(['custom', 'command']);

/** Whether the user may keep the layout by a program of their own. */
export function mayUseOwnProgram(engine: string): boolean {
  return !RUNS_PROGRAM_OF_USER.has(engine);
}

/** Refusals that no value of another field lifts: the engine lacks the option. */
const LACKS_OPTION = 'engine-lacks-option';

/** A line below a refusal of an engine; empty if another program would not help. */
function ownProgramLines(engine: string, rule: string): readonly string[] {
  return rule === LACKS_OPTION && mayUseOwnProgram(engine) ? [`  ${OWN_PROGRAM}`] : [];
}

/** A refusal of an engine for people: what, why, and what to do. */
export function refusalText(
  engine: string,
  { rule, field, why, fallback }: NonNullable<EngineRendering['refusal']>,
): string {
  return [
    `${engine} refuses ${field} (${rule})`,
    `  ${why}`,
    `  instead: ${fallback}`,
    ...ownProgramLines(engine, rule),
  ].join('\n');
}
