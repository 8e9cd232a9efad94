import type { JobQuery } from '@coxswain/api-client';
import { JOB_ORDERS, type JobOrder, type JobSummary } from '@coxswain/api-types';

/** The filters of the list of jobs, as in the form. Empty text does not filter. */
export interface JobListing {
  readonly search: string;
  readonly labels: string;
  readonly owner: string;
  readonly state: string;
  readonly orderBy: JobOrder;
}

export const ALL_JOBS: JobListing = { search: '', labels: '', owner: '', state: '', orderBy: 'createdAt' };

/** Reads the filters from the form, or from the address of the page. */
export function listingOf(form: { get(field: keyof JobListing): unknown }): JobListing {
  const text = (field: keyof JobListing): string => {
    const value = form.get(field);
    return typeof value === 'string' ? value.trim() : '';
  };
  return {
    search: text('search'),
    labels: text('labels'),
    owner: text('owner'),
    state: text('state'),
    orderBy: JOB_ORDERS.find((order) => order === text('orderBy')) ?? 'createdAt',
  };
}

/** The same for the address of the page; what does not filter is left out. */
export function addressOf(listing: JobListing): URLSearchParams {
  const fields = Object.entries(listing).filter(([field, value]) => value !== ALL_JOBS[field as keyof JobListing]);
  return new URLSearchParams(fields as [string, string][]);
}

/** The same for the API. */
export function queryOf({ search, labels, owner, state, orderBy }: JobListing): JobQuery {
  const asked = (text: string): string | undefined => (text === '' ? undefined : text);
  return { q: asked(search), labelSelector: asked(labels), owner: asked(owner), state: asked(state), orderBy };
}

/** Jobs of several projects in one order, as the API orders those of one. */
export function inOrder(jobs: readonly JobSummary[], orderBy: JobOrder): readonly JobSummary[] {
  const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
  return jobs.toSorted((a, b) =>
    orderBy === 'name' ? byText(a.name, b.name) : byText(b[orderBy] ?? '', a[orderBy] ?? ''),
  );
}
