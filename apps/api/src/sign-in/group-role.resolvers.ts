import { GroupRoleCreate } from '@coxswain/api-types';
import { Inject, Injectable } from '@nestjs/common';
import { list, one, present, type RootFields, type RootResolvers } from '../graphql/root-resolvers.ts';
import { idempotencyKeyOf } from '../http/idempotency-key.ts';
import { parse } from '../http/validation.ts';
import { GroupRolesService, MAX_GROUP_ROLES } from './group-roles.service.ts';

/** Roles of groups by GraphQL. */
@Injectable()
export class GroupRoleResolvers implements RootResolvers {
  readonly queries: RootFields;
  readonly mutations: RootFields;

  constructor(@Inject(GroupRolesService) groups: GroupRolesService) {
    this.queries = {
      groupRoles: list<{ project: string }>(
        () => MAX_GROUP_ROLES,
        ({ project }, { principal }) => groups.list(principal, project),
      ),
    };
    this.mutations = {
      grantGroupRole: one<{ project: string; input: unknown; idempotencyKey?: string | null }>(
        ({ project, input, idempotencyKey }, { principal }) =>
          groups.grant(principal, {
            project,
            request: parse(GroupRoleCreate, present(input)),
            key: idempotencyKeyOf(idempotencyKey ?? undefined),
          }),
      ),
      revokeGroupRole: one<{ project: string; id: string }>(({ project, id }, { principal }) =>
        groups.revoke(principal, project, id).then(() => true),
      ),
    };
  }
}
