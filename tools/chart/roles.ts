/** `node tools/bootstrap.mjs tools/chart/roles.ts`: writes what the chart's templates of roles render to where the local cluster reads it. */
import { writeFileSync } from 'node:fs';
import { LOCAL_ROLES, renderRoles } from './render.ts';

writeFileSync(LOCAL_ROLES, await renderRoles());
