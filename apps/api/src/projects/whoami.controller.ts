import { WhoAmI } from '@coxswain/api-types';
import { Controller, Get } from '@nestjs/common';
import { Answers } from '../http/openapi.ts';
import { Caller } from '../auth/auth.guard.ts';
import { highestRoleOf, onlyProjectOf, type Principal } from '../auth/principal.ts';

/** What the API knows of a principal. */
export function whoAmI(principal: Principal): WhoAmI {
  const memberships = principal.isClusterAdmin ? [] : principal.memberships;
  return {
    name: principal.name,
    kind: principal.kind,
    role: highestRoleOf(principal),
    project: onlyProjectOf(principal)?.name ?? null,
    memberships: memberships.map(({ name: project, role }) => ({ project, role })),
  };
}

/** REST route that answers who the caller is and which roles the caller has. */
@Controller('v1/whoami')
export class WhoAmIController {
  @Get()
  @Answers({ status: 200, schema: WhoAmI, summary: 'Who asks, and what they may do where' })
  get(@Caller() caller: Principal): WhoAmI {
    return whoAmI(caller);
  }
}
