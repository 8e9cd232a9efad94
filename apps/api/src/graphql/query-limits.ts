import { type ASTVisitor, GraphQLError, type ValidationContext } from 'graphql';

/** Deepest selection. The deepest of ours has 5 levels. */
export const MAX_QUERY_DEPTH = 8;
/** Most fields of a document, fragments counted once each time they are spread. */
const MAX_FIELDS = 500;
/** Most fields at the root: each costs at least one question to the database. */
const MAX_ROOT_FIELDS = 20;
const MAX_DIRECTIVES = 50;

/** Refuses documents that ask for too much, before anything is resolved. */
export function tooMuch(context: ValidationContext): ASTVisitor {
  let fields = 0;
  let directives = 0;
  const refuse = (what: string): void => context.reportError(new GraphQLError(`the query has ${what}; ask in several requests`));
  return {
    OperationDefinition: (operation) => {
      const rootFields = operation.selectionSet.selections.length;
      if (rootFields > MAX_ROOT_FIELDS) refuse(`${rootFields} fields at its root, more than ${MAX_ROOT_FIELDS}`);
    },
    Field: () => {
      fields++;
      if (fields === MAX_FIELDS + 1) refuse(`more than ${MAX_FIELDS} fields`);
    },
    Directive: () => {
      directives++;
      if (directives === MAX_DIRECTIVES + 1) refuse(`more than ${MAX_DIRECTIVES} directives`);
    },
  };
}
