import { versionProblem, type ServerVersion } from '@coxswain/api-types';
import type { TenantDatabase } from '@coxswain/persistence';

/** What must be so for this process to get requests. */
export interface ReadinessCheck {
  readonly name: string;
  /** Undefined when all is well, else a sentence. */
  check(): Promise<string | undefined> | string | undefined;
}

/** Whether the process should get requests now. Once it is asked to stop, it should not. */
export class Readiness {
  readonly #checks: ReadinessCheck[] = [];
  #stopping = false;

  add(check: ReadinessCheck): void {
    this.#checks.push(check);
  }

  stop(): void {
    this.#stopping = true;
  }

  /** Sentences about what is missing; empty when ready. */
  async missing(): Promise<readonly string[]> {
    if (this.#stopping) return ['the process is stopping'];
    const answers = await Promise.all(
      this.#checks.map(async ({ name, check }) => {
        const answer = await check();
        return answer === undefined ? [] : [`${name}: ${answer}`];
      }),
    );
    return answers.flat();
  }
}

/** The database answers a trivial question within its time limits. */
export function databaseCheck(database: Pick<TenantDatabase, 'ping'>): ReadinessCheck {
  return {
    name: 'database',
    check: () =>
      database.ping().then(
        () => undefined,
        () => 'does not answer',
      ),
  };
}

/**
 * The cluster is new enough. Asked until it answers once: a cluster that is away makes the API no less able to take requests,
 * one that is too old does.
 */
export function kubernetesVersionCheck(kube: { version(): Promise<ServerVersion> }): ReadinessCheck {
  let answer: { readonly problem: string | undefined } | undefined;
  return {
    name: 'kubernetes',
    check: async () => {
      answer ??= await kube.version().then(
        (version) => ({ problem: versionProblem(version) }),
        () => undefined,
      );
      return answer?.problem;
    },
  };
}
