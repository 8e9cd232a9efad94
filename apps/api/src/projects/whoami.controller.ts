import { WhoAmI } from '@coxswain/api-types';
import { Controller, Get } from '@nestjs/common';
import { Answers } from '../http/openapi.ts';
import { Caller } from '../auth/auth.guard.ts';
import type { Principal } from '../auth/principal.ts';

/** What the API knows of a principal. */
export function whoAmI(principal: Principal): WhoAmI {
  return { name: principal.name, role: principal.role, project: principal.project?.name ?? null };
}

@Controller('v1/whoami')
export class WhoAmIController {
  @Get()
  @Answers({ status: 200, schema: WhoAmI, summary: 'Who the token belongs to' })
  get(@Caller() caller: Principal): WhoAmI {
    return whoAmI(caller);
  }
}
