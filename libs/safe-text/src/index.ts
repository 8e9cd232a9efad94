export { parseForeignJson } from './foreign-json.ts';
export { cutText, endOfText, safeText } from './safe-text.ts';
