/** Does the operator hear so few launchers that its own view is in doubt? */

/** Launchers of running gangs that have reported to this process, and those of them that are silent now. */
export interface Hearing {
  readonly launchers: number;
  readonly silent: number;
  /** Gangs with a silent launcher. */
  readonly silentGangs: number;
}

/**
 * Silence of many launchers over many gangs is likelier a fault between them and the operator than of each of them. A rack is lost rarely, and the API
 * server reports its nodes as not ready within a minute, which confirms the silence. One or two gangs may lose all their launchers by themselves.
 */
const FEW = { silentShare: 0.2, leastGangs: 3 } as const;

/** Whether silence is no evidence about a launcher now. */
export function hearsFew(hearing: Hearing | undefined): boolean {
  if (hearing === undefined) return false;
  const { launchers, silent, silentGangs } = hearing;
  return silentGangs >= FEW.leastGangs && silent >= FEW.silentShare * launchers;
}
