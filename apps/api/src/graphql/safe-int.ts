import { GraphQLError, Kind, type ValueNode } from 'graphql';

/** The scalar of whole numbers that JavaScript can tell apart: GraphQL's own Int ends at 2^31 - 1. */
export const SafeInt = {
  serialize: Number,
  parseValue: requireSafeInt,
  parseLiteral: (node: ValueNode): number => requireSafeInt(node.kind === Kind.INT ? Number(node.value) : undefined),
};

function requireSafeInt(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  throw new GraphQLError('a SafeInt is a whole number between -(2^53 - 1) and 2^53 - 1');
}
