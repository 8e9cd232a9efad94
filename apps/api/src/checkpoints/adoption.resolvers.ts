import { CheckpointAdopt } from '@coxswain/api-types';
import { Inject, Injectable } from '@nestjs/common';
import { one, present, type RootFields, type RootResolvers } from '../graphql/root-resolvers.ts';
import { parse } from '../http/validation.ts';
import { AdoptionService } from './adoption.service.ts';

/** Adoption by GraphQL. */
@Injectable()
export class AdoptionResolvers implements RootResolvers {
  readonly mutations: RootFields;

  constructor(@Inject(AdoptionService) adoption: AdoptionService) {
    this.mutations = {
      adoptCheckpoint: one<{ project: string; input: unknown }>(({ project, input }, { principal }) =>
        adoption.adopt(principal, { project, request: parse(CheckpointAdopt, present(input)) }),
      ),
    };
  }
}
