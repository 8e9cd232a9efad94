import { Inject, Injectable } from '@nestjs/common';
import { list, present, type RootFields, type RootResolvers } from '../graphql/root-resolvers.ts';
import { pageRows } from '../http/page-query.ts';
import { parse } from '../http/validation.ts';
import { AuditQuery } from './audit-queries.ts';
import { AuditService } from './audit.service.ts';

/** The audit by GraphQL. */
@Injectable()
export class AuditResolvers implements RootResolvers {
  readonly queries: RootFields;

  constructor(@Inject(AuditService) audit: AuditService) {
    this.queries = {
      audit: list<{ project: string; pageSize?: number | null }>(pageRows, ({ project, ...query }, { principal }) =>
        audit.list(principal, project, parse(AuditQuery, present(query))),
      ),
    };
  }
}
