import type { ApiClient } from '@coxswain/api-client';
import type { JobSummary, WhoAmI } from '@coxswain/api-types';
import { inOrder, type JobListing, queryOf } from './job-listing.ts';

/** Jobs as the page lists them. */
export interface ListedJobs {
  /** In the order that was asked for. */
  readonly jobs: readonly JobSummary[];
  /** There are more. */
  readonly isCut: boolean;
}

/** Who asks, and through which routes. */
interface Asker {
  readonly api: Pick<ApiClient, 'projects' | 'jobPage'>;
  readonly me: WhoAmI;
}

/** Reads the jobs of the project of the token, or of every project that an administrator may see. */
export async function readJobs({ api, me }: Asker, listing: JobListing, pageSize: number): Promise<ListedJobs> {
  const query = { ...queryOf(listing), pageSize };
  const projects = me.project === null ? (await api.projects()).items.map((project) => project.name) : [me.project];
  const pages = await Promise.all(projects.map((project) => api.jobPage(project, query)));
  return {
    jobs: inOrder(
      pages.flatMap((page) => page.items),
      listing.orderBy,
    ),
    isCut: pages.some((page) => page.nextPageToken !== undefined),
  };
}
