import { Inject, Injectable } from '@nestjs/common';
import { list, type RootFields, type RootResolvers } from '../graphql/root-resolvers.ts';
import { FabricService } from './fabric.service.ts';

/** Nodes of a large cluster: how many there are is known only afterwards. */
const COUNTED_ROWS = 10_000;

/** The fabric by GraphQL. */
@Injectable()
export class FabricResolvers implements RootResolvers {
  readonly queries: RootFields;

  constructor(@Inject(FabricService) fabric: FabricService) {
    this.queries = {
      fabric: list<object>(
        () => COUNTED_ROWS,
        (_args, { principal }) => fabric.read(principal),
      ),
    };
  }
}
