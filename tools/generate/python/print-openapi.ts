/** Prints the OpenAPI document of the API's sources; started with `--import nest-sources.mjs`. */
import { CONTROLLERS } from '../../../apps/api/src/app.module.ts';
import { openApiDocument } from '../../../apps/api/src/http/openapi-document.ts';

process.stdout.write(JSON.stringify(openApiDocument(CONTROLLERS)));
