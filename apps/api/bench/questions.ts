/** Jobs of a page, as the API's default. */
export const PAGE_SIZE = 50;

/** Of how many jobs one has the label that is looked for, and its word in the name. */
export const ONE_OF = 100;

/** One thing that is asked over and over. */
export interface Question {
  readonly name: string;
  /** Path below a project. */
  readonly path: (job: { readonly id: string }) => string;
}

/** What people and pages ask for most. */
export const QUESTIONS: readonly Question[] = [
  { name: 'one job', path: ({ id }) => `jobs/${id}` },
  { name: 'a page of jobs', path: () => `jobs?pageSize=${PAGE_SIZE}` },
  {
    name: 'a page by label',
    path: () => `jobs?pageSize=${PAGE_SIZE}&labelSelector=${encodeURIComponent('team=rare')}`,
  },
  { name: 'a page by a word of the name', path: () => `jobs?pageSize=${PAGE_SIZE}&q=rare` },
];
