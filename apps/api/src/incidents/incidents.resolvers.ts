import { Inject, Injectable } from '@nestjs/common';
import { list, present, type RootFields, type RootResolvers } from '../graphql/root-resolvers.ts';
import { pageRows } from '../http/page-query.ts';
import { parse } from '../http/validation.ts';
import { IncidentQuery } from './incident-queries.ts';
import { IncidentsService } from './incidents.service.ts';

interface Asked {
  readonly project: string;
  readonly pageSize?: number | null;
}

/** Incidents by GraphQL. */
@Injectable()
export class IncidentsResolvers implements RootResolvers {
  readonly queries: RootFields;

  constructor(@Inject(IncidentsService) incidents: IncidentsService) {
    this.queries = {
      incidents: list<Asked>(pageRows, ({ project, ...query }, { principal }) =>
        incidents.list(principal, project, parse(IncidentQuery, present(query))),
      ),
      jobIncidents: list<Asked & { readonly jobId: string }>(pageRows, ({ project, jobId, ...query }, { principal }) =>
        incidents.ofJob(principal, { project, jobId }, parse(IncidentQuery, present(query))),
      ),
    };
  }
}
