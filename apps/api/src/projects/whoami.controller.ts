import { WhoAmI } from '@coxswain/api-types';
import { Controller, Get, Inject } from '@nestjs/common';
import type { Config } from '../config/config.ts';
import { CONFIG } from '../infrastructure/tokens.ts';
import { Answers } from '../http/openapi.ts';
import { Caller } from '../auth/auth.guard.ts';
import { highestRoleOf, onlyProjectOf, type Principal } from '../auth/principal.ts';

/** What the API knows of a principal. */
export function whoAmI(principal: Principal, { links: { logLink, jobLinks } }: Pick<Config, 'links'>): WhoAmI {
  const memberships = principal.isClusterAdmin ? [] : principal.memberships;
  return {
    name: principal.name,
    kind: principal.kind,
    role: highestRoleOf(principal),
    project: onlyProjectOf(principal)?.name ?? null,
    memberships: memberships.map(({ name: project, role }) => ({ project, role })),
    ...(logLink === undefined ? {} : { logLink }),
    ...(jobLinks.length === 0 ? {} : { jobLinks: [...jobLinks] }),
  };
}

/** REST route that answers who the caller is and which roles the caller has. */
@Controller('v1/whoami')
export class WhoAmIController {
  readonly #config: Pick<Config, 'links'>;

  constructor(@Inject(CONFIG) config: Config) {
    this.#config = config;
  }

  @Get()
  @Answers({ status: 200, schema: WhoAmI, summary: 'Who asks, and what they may do where' })
  get(@Caller() caller: Principal): WhoAmI {
    return whoAmI(caller, this.#config);
  }
}
