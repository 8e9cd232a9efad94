import { Module } from '@nestjs/common';
import { GraphqlEngine } from './graphql-engine.ts';
import { GraphqlController } from './graphql.controller.ts';

/** The route of GraphQL and the engine behind it. What a query runs, the features bring along (`RootResolvers`). */
@Module({
  controllers: [GraphqlController],
  providers: [GraphqlEngine],
  exports: [GraphqlEngine],
})
export class GraphqlModule {}
