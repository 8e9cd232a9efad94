import { AuditList } from '@coxswain/api-types';
import { Controller, Get, Inject, Param, Query } from '@nestjs/common';
import { Caller } from '../auth/auth.guard.ts';
import type { Principal } from '../auth/principal.ts';
import { Answers } from '../http/openapi.ts';
import { AuditQuery } from './audit-queries.ts';
import { AuditService } from './audit.service.ts';

/** REST routes that read the audit log of a project or, as project `-`, of the whole cluster. */
@Controller('v1/projects/:project/audit')
export class AuditController {
  readonly #audit: AuditService;

  constructor(@Inject(AuditService) audit: AuditService) {
    this.#audit = audit;
  }

  @Get()
  @Answers({
    status: 200,
    schema: AuditList,
    summary:
      'Who did what from where, and what was refused, newest first; project "-": of the whole cluster (administrators)',
  })
  list(
    @Caller() caller: Principal,
    @Param('project') project: string,
    @Query({ schema: AuditQuery }) query: AuditQuery,
  ): Promise<AuditList> {
    return this.#audit.list(caller, project, query);
  }
}
