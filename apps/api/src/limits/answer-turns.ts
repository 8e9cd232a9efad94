/** How many large answers are built at a time, and whose turn is next? */
import type { TurnGate } from '@coxswain/units';
import { Inject, Injectable } from '@nestjs/common';
import { type LimitedPrincipal, ProjectLimits } from './project-limits.ts';
import { resumeRequest } from './request-cpu.ts';
import { turnsOfProjects } from './turns-of-projects.ts';

/** Costs of GraphQL queries (`query-cost.ts`). One unit takes about 50 bytes while the answer is built. Below, an answer needs no turn: about 100 kB. */
const SMALL_COST = 2_000;
/** Above, an answer can take 66 MB, and one of these is built at a time. Up to it: 10 MB. */
const LARGE_COST = 200_000;
/** At worst 66 + 3 x 10 = 96 MB. */
const TURNS = {
  places: 4,
  ofTenant: 2,
  ofMember: 2,
  slow: 1,
  slowOfTenant: 1,
  waiting: 300,
  waitingOfTenant: 60,
  quickInARow: 4,
} as const;
const TURN_WAIT_MS = 10_000;
const TOO_MANY =
  'too many large answers are being built; try again in a few seconds, ask for fewer rows, or ask in fewer requests at a time';

/** Lets requests build their answers in turns of projects, so that the answers that are built together fit into memory. */
@Injectable()
export class AnswerTurns {
  readonly #limits: Pick<ProjectLimits, 'ownerOf' | 'refuse'>;
  readonly #turns: TurnGate;

  constructor(@Inject(ProjectLimits) limits: Pick<ProjectLimits, 'ownerOf' | 'refuse'>) {
    this.#limits = limits;
    this.#turns = turnsOfProjects(limits, {
      bounds: TURNS,
      waitMs: TURN_WAIT_MS,
      limit: 'answers',
      message: TOO_MANY,
      retrySeconds: 3,
    });
  }

  /** Builds an answer of that cost. RATE_LIMITED if its turn does not come. */
  build<T>(
    principal: LimitedPrincipal,
    { cost, gone }: { readonly cost: number; readonly gone: AbortSignal },
    work: () => Promise<T>,
  ): Promise<T> {
    if (cost <= SMALL_COST) return work();
    const tenant = this.#limits.ownerOf(principal, undefined);
    const claim = { tenant, member: principal.id, isSlow: cost > LARGE_COST };
    const build = (): Promise<T> => {
      resumeRequest();
      return work();
    };
    return this.#turns.pass(claim, build, gone);
  }
}
